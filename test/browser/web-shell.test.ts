import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip } from '../kit/chromium.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { ADA, addAda, buildWebApp, openWebPage, seriousFindings } from '../kit/web-page.ts'

if (skip === false) buildWebApp()
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })

test('who opens the engine in a browser signs in, sees the flows, and signs out', { skip }, async t => {
  await addAda(live)
  const { page, problems } = await openWebPage(t, live, { path: '/' })
  assert.equal(new URL(page.url()).pathname, '/app/')
  await page.getByLabel('Name').fill(ADA.name)
  await page.getByLabel('Password').fill('not this one at all')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Password').fill(ADA.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Flows' }).first().click()
  await page.getByRole('heading', { level: 1, name: 'Flows' }).waitFor()
  assert.deepEqual(await seriousFindings(page), [])
  await page.getByRole('button', { name: /sign out/ }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  assert.deepEqual(problems, [])
})

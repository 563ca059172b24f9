import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip } from '../kit/chromium.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output } from '../kit/live-story.ts'
import { ADA, addAda, buildWebApp, openWebPage, ownClient, seriousFindings } from '../kit/web-page.ts'

if (skip === false) buildWebApp()
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })

const TRAIN = `export default ({ lr }, ctx) => {
  for (let step = 0; step < 20; step++) ctx.metric('loss', 1 / (1 + lr * step), step)
  ctx.log('trained with <b>' + lr + '</b>')
  if (lr > 1) throw new Error('lr is too high')
  return { loss: lr }
}`

test('runs are found, read, compared with the nearest one, and run again', { skip }, async t => {
  await addAda(live)
  const client = ownClient(live)
  const nodes = [code('train', TRAIN, [input('lr', 'float')], [output('loss', 'float')])]
  await live.engine.flows.save('fit', { document: flow(nodes, { message: 'lr', dtype: 'float' }) }, 'tests')
  for (const lr of [0.1, 0.2, 2]) {
    const { run } = await client.runs.create('fit', { inputs: { lr }, group: 'rates' })
    await client.runs.wait(run.id)
  }
  const { page, problems } = await openWebPage(t, live, { path: '/app/runs?group=rates', user: ADA })
  await page.getByText('lr is too high').waitFor()
  await page.getByText('0.2', { exact: true }).waitFor()
  assert.deepEqual(await seriousFindings(page), [])
  await page.getByRole('button', { name: 'failed' }).click()
  await page.getByText('1 runs shown').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('status'), 'failed')
  await page.getByRole('link', { name: /^[0-9a-f]{4}$/ }).click()
  await page.getByText('Error: lr is too high', { exact: false }).first().waitFor()
  await page.getByText('trained with <b>2</b>').waitFor()
  await page.getByText('It ran, because it was not in the cache.').waitFor()
  await page.getByText('train.loss', { exact: true }).waitFor()
  assert.deepEqual(await seriousFindings(page), [])
  const before = page.url()
  await page.getByRole('button', { name: 'Run again' }).click()
  await page.getByText('Again of').waitFor()
  assert.notEqual(page.url(), before)
  assert.deepEqual(problems, [])
})

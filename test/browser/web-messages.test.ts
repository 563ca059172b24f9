import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip } from '../kit/chromium.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { flow, Story } from '../kit/live-story.ts'
import { ADA, addAda, buildWebApp, openWebPage, seriousFindings } from '../kit/web-page.ts'

if (skip === false) buildWebApp()
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })

for (const theme of ['light', 'dark'] as const)
  test(`the messages move, are filtered, and are published to by a form (${theme})`, { skip }, async t => {
    await addAda(live)
    const story = new Story(live.engine)
    const name = `tank_${theme}`
    await story.save(name, flow([], { message: 'level', dtype: 'float' }, { message: 'note', dtype: 'str' }))
    const { page, problems } = await openWebPage(t, live, { path: '/app/messages', theme, user: ADA })
    const level = page.getByRole('treeitem', { name: /^level/ }).first()
    await page.getByLabel('Filter messages').fill(`${name}.*`)
    await level.getByText('never set').waitFor()
    story.publish(`${name}.level`, 1.5)
    await level.getByText('1.5').waitFor()
    story.publish(`${name}.note`, '<b>bold</b>')
    await page.getByText('“<b>bold</b>”').waitFor()
    await level.click()
    await page.getByLabel('Value').fill('warm')
    await page.getByRole('button', { name: 'Publish' }).click()
    await page.getByText('A float is a number').waitFor()
    await page.getByLabel('Value').fill('42.25')
    await page.getByRole('button', { name: 'Publish' }).click()
    await level.getByText('42.25').waitFor()
    assert.equal(new URL(page.url()).searchParams.get('message'), `${name}.level`)
    assert.deepEqual(await seriousFindings(page), [])
    assert.deepEqual(problems, [])
  })

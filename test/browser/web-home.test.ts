import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip } from '../kit/chromium.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'
import { ADA, addAda, buildWebApp, openWebPage, seriousFindings } from '../kit/web-page.ts'

if (skip === false) buildWebApp()
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })

const BAD = "export default () => { throw new TypeError('level is <b>null</b>') }"

for (const theme of ['light', 'dark'] as const)
  test(`home shows what runs, what needs a look, and what the machine has (${theme})`, { skip }, async t => {
    await addAda(live)
    const story = new Story(live.engine)
    const name = `boiler_${theme}`
    const nodes = [code('alarm', BAD, [input('level', 'float')], [output('alarm', 'bool')])]
    await story.save(name, flow(nodes, { message: 'level', dtype: 'float' }))
    const { page, problems } = await openWebPage(t, live, { path: '/app/', theme, user: ADA })
    await page.getByRole('heading', { name: 'Flows' }).waitFor()
    story.publish(`${name}.level`, 1)
    await page.getByText('level is <b>null</b>', { exact: false }).first().waitFor()
    await page.getByRole('row', { name: new RegExp(`${name}.*1 error`) }).waitFor()
    await page.getByText('0 / ').first().waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    assert.deepEqual(await seriousFindings(page), [])
    assert.deepEqual(problems, [])
  })

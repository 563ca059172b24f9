import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { skip } from '../kit/chromium.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'
import { ADA, addAda, buildWebApp, openWebPage, seriousFindings } from '../kit/web-page.ts'

if (skip === false) buildWebApp()
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })

const DOUBLE = 'export default ({ x }) => ({ y: 2 * x })'
/** As somebody types; a fill by script leaves styles behind. */
async function retype(page: Page, editor: Locator, text: string): Promise<void> {
  await editor.click()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  await page.keyboard.insertText(text)
}

const document = () =>
  flow([code('double', DOUBLE, [input('x', 'float')], [output('y', 'float')])], { message: 'x', dtype: 'float' })

test('a body is changed on the canvas and deployed, and the change takes effect', { skip }, async t => {
  await addAda(live)
  const story = new Story(live.engine)
  await story.save('gauge', document())
  const { page, problems } = await openWebPage(t, live, { path: '/app/flows/gauge', user: ADA })
  await page.getByLabel('double, code').click()
  const drawer = page.getByLabel('Node double')
  await drawer.getByRole('tab', { name: 'Body' }).waitFor()
  const editor = page.getByLabel('Body of double')
  await editor.getByText('2 * x').waitFor()
  assert.deepEqual(await seriousFindings(page), [])
  await retype(page, editor, DOUBLE.replace('2', '3'))
  await page.getByText('1 node changed').waitFor()
  await page.reload()
  await page.getByText('1 node changed').waitFor()
  await page.getByRole('button', { name: 'Review and deploy' }).click()
  await page.getByRole('dialog').getByText('y: 3 * x').waitFor()
  await page.getByLabel('What changed').fill('three times')
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
  await page.getByText('Version 2 runs. double restarted, 0 kept.').waitFor()
  story.publish('gauge.x', 7)
  await page.getByRole('tab', { name: 'Live' }).click()
  await drawer.getByText('21', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'History' }).click()
  await page.getByText('three times').waitFor()
  assert.deepEqual(problems, [])
})

test('a deploy from an old version is refused, and the draft stays', { skip }, async t => {
  await addAda(live)
  const story = new Story(live.engine)
  await story.save('twice', document())
  const { page, problems } = await openWebPage(t, live, { path: '/app/flows/twice?node=double', user: ADA })
  const editor = page.getByLabel('Body of double')
  await retype(page, editor, DOUBLE.replace('2', '4'))
  await page.getByText('1 node changed').waitFor()
  const other = document()
  other.nodes[0]!.source = DOUBLE.replace('2', '5')
  await story.save('twice', other)
  await page.getByRole('button', { name: 'Review and deploy' }).click()
  await page.getByText('Your changes are kept', { exact: false }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Deploy', exact: true }).isDisabled(), true)
  await page.getByRole('button', { name: /Save mine over version 2/ }).click()
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
  await page.getByText('Version 3 runs.', { exact: false }).waitFor()
  assert.deepEqual(problems, [])
})

test('a body is tried on given inputs before it is deployed, and a failure stands at its line', { skip }, async t => {
  await addAda(live)
  const story = new Story(live.engine)
  await story.save('trial', document())
  const { page, problems } = await openWebPage(t, live, { path: '/app/flows/trial?node=double', user: ADA })
  await retype(page, page.getByLabel('Body of double'), DOUBLE.replace('2', '4'))
  const tried = page.getByLabel('Try the body')
  await tried.getByLabel('Inputs').fill('{"x": 5}')
  await tried.getByRole('button', { name: 'Run' }).click()
  await tried.getByText('out {"y":20}').waitFor()
  assert.deepEqual(await seriousFindings(page), [])
  await retype(page, page.getByLabel('Body of double'), "export default () => {\n  throw new Error('too hot')\n}")
  await tried.getByRole('button', { name: 'Run' }).click()
  await tried.getByText('too hot', { exact: false }).waitFor()
  await tried.getByText(/^2:\d+/).waitFor()
  assert.equal(live.engine.messages.get('trial.y').version, 0, 'nothing is published')
  assert.deepEqual(problems, [])
})

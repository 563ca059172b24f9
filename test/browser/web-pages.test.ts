import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip } from '../kit/chromium.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'
import { ADA, addAda, buildWebApp, openWebPage, ownClient, seriousFindings } from '../kit/web-page.ts'

if (skip === false) buildWebApp()
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })

const FIT =
  'export default ({ lr }, ctx) => { ctx.metric("loss", lr, 0); ctx.metric("loss", lr / 2, 1); return { loss: lr } }'

/** What each page shows, of an engine with something of each kind. */
const SHOWN: Readonly<Record<string, string>> = {
  '/app/dashboards': 'Entrance',
  '/app/workers': 'Nothing is held now.',
  '/app/artifacts': '5 B',
  '/app/events': 'flow_saved',
  '/app/settings': 'Front thread held',
  '/app/settings/users': 'ada',
  '/app/settings/clients': 'robot',
  '/app/settings/secrets': 'door',
  '/app/settings/flavors': 'small',
  '/app/explorer?messages=fit.lr': 'Live',
  '/app/more': 'Dashboards',
  '/app/nothing': 'Nothing is here',
}

test('every page shows what there is, and can be read by everybody in both themes and on a phone', {
  skip,
}, async t => {
  await addAda(live)
  const client = ownClient(live)
  const story = new Story(live.engine)
  const nodes = [code('fit', FIT, [input('lr', 'float')], [output('loss', 'float')])]
  await story.save('fit', flow(nodes, { message: 'lr', dtype: 'float' }))
  story.publish('fit.lr', 1)
  await client.dashboards.save('hall', { document: { locked: false, tiles: [] } })
  await client.panels.create({ name: 'Entrance', dashboards: ['hall'] })
  await client.clients.create({ name: 'robot', scopes: ['read'] })
  await client.secrets.set('door', 'sesame sesame')
  await client.flavors.put('small', { cpus: 1 })
  await client.artifacts.put(Buffer.from('bytes'), { media_type: 'text/plain' })
  const runs = []
  for (const lr of [0.1, 0.2]) {
    const { run } = await client.runs.create('fit', { inputs: { lr } })
    runs.push(await client.runs.wait(run.id))
  }
  const compare = `/app/compare?${runs.map(({ id }) => `run=${id}`).join('&')}`
  const { page, problems } = await openWebPage(t, live, { path: '/app/', user: ADA })
  for (const [path, text] of Object.entries({ ...SHOWN, [compare]: 'What differs' })) {
    for (const [colorScheme, width] of [
      ['light', 1440],
      ['dark', 390],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      await page.goto(`${live.url}${path}`)
      const isShown = path === compare ? page.getByLabel(text, { exact: true }) : page.getByText(text).first()
      await isShown.waitFor({ state: 'attached' })
      assert.deepEqual(await seriousFindings(page), [], `${path} ${colorScheme}`)
    }
  }
  assert.deepEqual(problems, [])
})

test('a screen is paired from the web app', { skip }, async t => {
  await addAda(live)
  const client = ownClient(live)
  const panel = await client.panels.create({ name: 'Paired', dashboards: [] })
  const screen = await openWebPage(t, live, { path: '/panel' })
  await screen.page.getByText(/^[0-9A-Z]{6}$/).waitFor()
  const shown = await screen.page.locator('.pairing-code').textContent()
  const { page, problems } = await openWebPage(t, live, { path: '/app/dashboards', user: ADA })
  await page.getByLabel('Code on the screen').fill(shown!.toLowerCase())
  await page.getByLabel('Panel', { exact: true }).selectOption({ label: 'Paired' })
  await page.getByRole('button', { name: 'Pair', exact: true }).click()
  await screen.page.getByText('This panel has no dashboard yet.').waitFor()
  await page.getByRole('button', { name: 'Unpair Paired' }).click()
  await screen.page.getByRole('heading', { name: 'Pair this screen' }).waitFor()
  assert.equal((await client.panels.get(panel.id)).paired, false)
  assert.deepEqual([...problems, ...screen.problems], [])
})

test('a thing is found by its name from any page, and the keys lead to it', { skip }, async t => {
  await addAda(live)
  const story = new Story(live.engine)
  await story.save('condenser', flow([], { message: 'vacuum', dtype: 'float' }))
  const { page, problems } = await openWebPage(t, live, { path: '/app/events', user: ADA })
  await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByLabel('Find', { exact: true }).fill('condens')
  await page.getByRole('option', { name: /^condenser flow/ }).waitFor()
  assert.deepEqual(await seriousFindings(page), [])
  await page.getByLabel('Find', { exact: true }).press('Enter')
  await page.getByRole('heading', { level: 1, name: 'condenser' }).waitFor()
  assert.deepEqual(problems, [])
})

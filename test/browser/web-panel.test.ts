import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { skip } from '../kit/chromium.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { flow, Story } from '../kit/live-story.ts'
import { ROOT } from '../kit/sources.ts'
import { buildWebApp, openWebPage, ownClient, seriousFindings } from '../kit/web-page.ts'

if (skip === false) buildWebApp()
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })

const tile = (id: string, type: string, settings: Record<string, unknown>) => ({ id, type, settings })

test('a screen is paired by its code, shows what its tiles draw, publishes, and is paired anew when it was unpaired', {
  skip,
}, async t => {
  const client = ownClient(live)
  const story = new Story(live.engine)
  const messages = [
    { message: 'level', dtype: 'float' as const },
    { message: 'lamp', dtype: 'bool' as const },
    { message: 'picture', dtype: 'image' as const },
  ]
  await story.save('hall', flow([], ...messages))
  const tiles = [
    tile('level', 'value', { message: 'hall.level', unit: 'm', high: 10, title: 'Level' }),
    tile('lamp', 'switch', { message: 'hall.lamp', publish: 'hall.lamp', title: 'Lamp' }),
    tile('eye', 'image', { message: 'hall.picture', title: 'Eye' }),
    tile('note', 'text', { text: '<img src=x onerror=alert(1)>', title: 'Note' }),
  ]
  await client.dashboards.save('hall', { document: { locked: false, tiles } })
  const panel = await client.panels.create({ name: 'Entrance', dashboards: ['hall'] })

  const { page, problems } = await openWebPage(t, live, { path: '/panel' })
  const shown = page.locator('.pairing-code')
  await page.getByText(/^[0-9A-Z]{6}$/).waitFor()
  assert.deepEqual(await seriousFindings(page), [])
  await client.panels.approve(panel.id, (await shown.textContent())!)
  await page.getByRole('heading', { name: 'Level' }).waitFor()

  story.publish('hall.level', 3.5)
  await page.getByText('3.5', { exact: true }).waitFor()
  await page.getByText('<img src=x onerror=alert(1)>').waitFor()
  story.publish('hall.level', 12)
  await page.locator('.is-alarm').getByText('12', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'off' }).click()
  await page.getByRole('button', { name: 'on' }).waitFor()

  const png = readFileSync(join(ROOT, 'node_modules/swagger-ui-dist/favicon-32x32.png'))
  const picture = await client.artifacts.put(png, { media_type: 'image/png' })
  story.publish('hall.picture', picture)
  await page.waitForFunction(() => {
    const { document } = globalThis as unknown as {
      document: { querySelector(what: string): { width: number } | null }
    }
    return document.querySelector('canvas.picture')?.width === 32
  })
  assert.deepEqual(await seriousFindings(page), [])

  await client.panels.unpair(panel.id)
  await page.getByRole('heading', { name: 'Pair this screen' }).waitFor()
  assert.deepEqual(problems, [])
})

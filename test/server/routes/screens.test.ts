import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import type { ClaimedPanel, Panel, StartedPairing } from '../../../protocol/nouns/panel.ts'
import { Asking } from '../../kit/asking.ts'
import { tile } from '../../kit/panel-story.ts'
import { type ServedFront, serveFront } from '../../kit/served-front.ts'

let served: ServedFront
let asking: Asking
beforeEach(async () => {
  served = await serveFront({ proxies: ['127.0.0.1'] })
  asking = new Asking(served)
})
afterEach(() => served.close())

const document = (...messages: string[]) => ({
  locked: false,
  tiles: messages.map((message, at) => tile(`t${at}`, 'value', { message })),
})
const from = (address: string) => ({ as: 'nobody' as const, headers: { 'x-forwarded-for': address } })

describe('dashboards over HTTP', () => {
  test('of two saves at once one is refused, with the version that is there, who saved it and when', async () => {
    assert.equal(await asking.status('PUT', '/dashboards/hall', { body: { document: document(), version: 0 } }), 200)
    const body = { document: document('f.a'), version: 1 }
    const answers = await Promise.all([1, 2].map(() => asking.ask('PUT', '/dashboards/hall', { body })))
    const [saved, stale] = answers.sort((one, other) => one.status - other.status)
    assert.deepEqual([saved!.status, saved!.json.version, stale!.status], [200, 2, 409])
    const { code, current } = stale!.json
    assert.deepEqual([code, current.version, current.author], ['stale_version', 2, 'ada'])
    assert.match(current.at, /^\d{4}-.*\+00:00$/)
  })

  test('each mistake is told with its place in the body', async () => {
    const wrong = { locked: false, tiles: [tile('a', 'gauge', { message: 'f.a', min: 3, max: 1 })] }
    const { code, errors } = await asking.problem('PUT', '/dashboards/hall', { body: { document: wrong } })
    assert.deepEqual(
      [code, errors],
      ['bad_tile', [{ loc: 'body.document.tiles[0].settings.max', msg: 'must be more than min (3), not 1' }]],
    )
    assert.equal(await asking.code('PUT', '/dashboards/hall', { body: { document: 7 } }), 'validation')
    assert.equal(await asking.code('PUT', '/dashboards/0x', { body: { document: document() } }), 'validation')
    assert.equal(
      await asking.code('PUT', '/dashboards/hall', { body: { document: document(), script: 1 } }),
      'validation',
    )
    assert.equal(await asking.code('GET', '/dashboards/hall'), 'dashboard_not_found')
  })

  test('10,000 tiles are refused, and a document that is too long', async () => {
    const many = { locked: false, tiles: Array(10_000).fill({}) }
    const { code, errors } = await asking.problem('PUT', '/dashboards/hall', { body: { document: many } })
    assert.equal(code, 'validation')
    assert.deepEqual(errors, [
      { loc: 'body.document.tiles', msg: `has 10000 items; at most ${limits.DASHBOARD_TILES} are allowed` },
    ])
    const text = 'x'.repeat(limits.TILE_TEXT_CHARACTERS)
    const long = { locked: false, tiles: Array.from({ length: 9 }, (_, at) => tile(`t${at}`, 'text', { text })) }
    assert.equal(await asking.code('PUT', '/dashboards/hall', { body: { document: long } }), 'too_large')
  })

  test('Markdown with scripts is kept as it is, and answered as JSON alone', async () => {
    const text = '<img src=x onerror=alert(1)> [x](javascript:alert(1)) <script>alert(1)</script>'
    const tiles = [tile('a', 'text', { text, title: '<b>' })]
    assert.equal(await asking.status('PUT', '/dashboards/hall', { body: { document: { locked: false, tiles } } }), 200)
    const { headers, json } = await asking.ask('GET', '/dashboards/hall')
    assert.equal(headers.get('content-type'), 'application/json')
    assert.equal(json.document.tiles[0].settings.text, text)
  })

  test('history, restore and deletion', async () => {
    for (const message of ['f.a', 'f.b'])
      await asking.ask('PUT', '/dashboards/hall', { body: { document: document(message) } })
    const { items } = (await asking.ask('GET', '/dashboards/hall/history')).json
    assert.deepEqual(
      items.map(({ version }: { version: number }) => version),
      [2, 1],
    )
    assert.equal((await asking.ask('GET', '/dashboards/hall/history/2')).json.diff.length, 1)
    assert.equal((await asking.ask('POST', '/dashboards/hall/restore', { body: { version: 1 } })).json.version, 3)
    assert.equal(await asking.code('POST', '/dashboards/hall/restore', { body: { version: 9 } }), 'version_not_found')
    assert.equal(await asking.code('GET', '/dashboards/hall/history/x'), 'version_not_found')
    assert.equal(await asking.status('DELETE', '/dashboards/hall'), 204)
    assert.equal(await asking.status('GET', '/dashboards/hall/history'), 200)
    assert.deepEqual(
      served.audited.map(({ action, object }) => [action, object]),
      [
        ['dashboard_saved', 'dashboard:hall'],
        ['dashboard_saved', 'dashboard:hall'],
        ['dashboard_restored', 'dashboard:hall'],
        ['dashboard_deleted', 'dashboard:hall'],
      ],
    )
  })
})

describe('pairing over HTTP', () => {
  const start = async (address = '192.0.2.1'): Promise<StartedPairing> =>
    (await asking.ask('POST', '/panels/pairings', from(address))).json
  const panel = async (): Promise<Panel> =>
    (await asking.ask('POST', '/panels', { body: { name: 'wall', dashboards: [] } })).json
  const claim = (code: string, secret: string, address = '192.0.2.1') =>
    asking.ask('POST', `/panels/pairings/${code}/claim`, { ...from(address), body: { secret } })

  test('a screen waits, and takes its token once; a replay gets nothing', async () => {
    const { id } = await panel()
    const { code, secret } = await start()
    assert.deepEqual([(await claim(code, secret)).status, (await claim(code, secret)).json.status], [202, 'pending'])
    assert.equal(await asking.status('POST', `/panels/${id}/approve`, { body: { code } }), 204)
    assert.equal(await asking.code('POST', `/panels/${id}/approve`, { body: { code } }), 'pairing_not_found')
    const claimed = await claim(code, secret)
    assert.equal(claimed.headers.get('cache-control'), 'no-store')
    const { token, panel: own } = claimed.json as ClaimedPanel
    assert.deepEqual([claimed.status, own], [200, { id, name: 'wall', dashboards: [] }])
    assert.equal((await claim(code, secret)).json.code, 'pairing_not_found')
    const told = JSON.stringify([served.audited, served.log.lines])
    for (const hidden of [token, secret, code]) assert.ok(!told.includes(hidden), 'nothing of it is told')
    assert.deepEqual(
      served.audited.map(({ action, actor, object }) => [action, actor, object]),
      [
        ['panel_created', 'ada', `panel:${id}`],
        ['panel_approved', 'ada', `panel:${id}`],
        ['panel_paired', null, `panel:${id}`],
      ],
    )
  })

  test('a wrong secret is answered as an unknown code, and ten of them refuse the address', async () => {
    const { code, secret } = await start()
    const [wrong, unknown] = [await claim(code, 'guess'), await claim('AAAAAA', 'guess')]
    const bare = (text: string): string =>
      text.replaceAll(/"[0-9A-Z]{6}"|[0-9A-Z]{6}(?=\/claim)|\\"[0-9A-Z]{6}\\"/g, '')
    assert.equal(bare(wrong.text), bare(unknown.text))
    for (let tries = 2; tries < limits.PAIRING_FAILURES; tries++) await claim(code, 'guess')
    const refused = await claim(code, secret)
    assert.deepEqual([refused.status, refused.json.code], [429, 'rate_limited'])
    assert.equal((await claim(code, secret, '192.0.2.2')).status, 202)
    assert.equal((await claim('0', 'guess', '192.0.2.2')).json.code, 'pairing_not_found')
  })

  test('at most fifty codes are pending', async () => {
    for (let at = 0; at < limits.PAIRINGS_PENDING; at++) assert.equal((await start(`192.0.2.${at}`)).code.length, 6)
    const refused = await asking.ask('POST', '/panels/pairings', from('198.51.100.1'))
    assert.deepEqual([refused.status, refused.json.code], [429, 'too_many_pairings'])
    assert.ok(Number(refused.headers.get('retry-after')) > 500)
    served.clock.ms += limits.PAIRING_TTL_MS
    assert.equal((await start()).code.length, 6)
  })

  test('a claim takes JSON or a form of a few bytes, and an approval a code', async () => {
    const { id } = await panel()
    const { code } = await start()
    const target = `/panels/pairings/${code}/claim`
    const typed = (type: string) => ({ ...from('192.0.2.1').headers, 'content-type': type })
    const text = { as: 'nobody' as const, headers: typed('text/plain'), text: '{"secret":"x"}' }
    assert.equal(await asking.code('POST', target, text), 'unsupported_media_type')
    const long = { as: 'nobody' as const, headers: typed('application/json'), text: ' '.repeat(5_000) }
    assert.equal(await asking.code('POST', target, long), 'too_large')
    assert.equal(await asking.code('POST', `/panels/${id}/approve`, { body: { code: 'no code' } }), 'validation')
  })
})

describe('panels over HTTP', () => {
  test('names are of one panel, and dashboards have to be there', async () => {
    await asking.ask('PUT', '/dashboards/hall', { body: { document: document() } })
    const { id } = (await asking.ask('POST', '/panels', { body: { name: 'wall', dashboards: ['hall'] } })).json
    assert.equal(await asking.code('POST', '/panels', { body: { name: 'wall', dashboards: [] } }), 'panel_exists')
    const { errors } = await asking.problem('PUT', `/panels/${id}`, { body: { dashboards: ['hall', 'none', 'hall'] } })
    assert.deepEqual(errors, [
      { loc: 'body.dashboards[1]', msg: 'there is no dashboard "none"' },
      { loc: 'body.dashboards[2]', msg: '"hall" is given twice' },
    ])
    assert.equal(await asking.code('DELETE', '/dashboards/hall'), 'dashboard_in_use')
    assert.equal((await asking.ask('PUT', `/panels/${id}`, { body: { name: 'door' } })).json.name, 'door')
    assert.equal(await asking.status('DELETE', `/panels/${id}`), 204)
    assert.equal(await asking.code('GET', `/panels/${id}`), 'panel_not_found')
    assert.equal(await asking.status('DELETE', '/dashboards/hall'), 204)
  })

  test('GET /tile-types answers each type with its settings', async () => {
    const { items, count } = (await asking.ask('GET', '/tile-types')).json
    assert.equal(items.length, count)
    const { settings } = items.find(({ name }: { name: string }) => name === 'gauge')
    assert.deepEqual(settings.required, ['message'])
    assert.equal(settings.properties.max.default, 100)
  })
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { limits } from '../../../protocol/limits.ts'
import type { FlowNode } from '../../../protocol/nouns/flow-document.ts'
import { allRoutes, type Services } from '../../../server/routes/all-routes.ts'
import { FrontWatch } from '../../../server/watch/front-watch.ts'
import type { Answered, Asked, DriverTask } from '../../kit/driver-thread.ts'
import { eventually, sharedEngine } from '../../kit/live-engine.ts'
import { code, flow, input, node, output } from '../../kit/live-story.ts'
import { LogDouble } from '../../kit/served-front.ts'

// The watch looks every millisecond: what holds this thread outside of requests is found as well.
const live = sharedEngine({ FLOW_LANES: '2' }, { front_look_ms: 1 })

const MIB = 1024 * 1024
const ROWS = 1_000
const list = (item: string, bytes: number): string => {
  const times = Math.floor((bytes - 2) / (item.length + 1))
  return `[${Array(times).fill(item).join(',')}]`
}
const members = (count: number, name = 'k'): string =>
  Array.from({ length: count }, (_, at) => `"${name}${at.toString(36)}":${at}`).join(',')

/** Bodies of about the largest size that JSON may have here, each the worst of its kind for some station. */
const LARGE: Record<string, string> = {
  numbers: list('0', MIB - 64),
  texts: list('"ab"', MIB - 64),
  'empty lists': list('[]', MIB - 64),
  objects: list('{"a":1}', MIB - 64),
  'many short keys': `{${members(70_000)}}`,
  'as many keys as may be': `{${members(limits.VALUE_PARTS - 8)}}`,
  'one text': `"${'x'.repeat(MIB - 64)}"`,
  'open brackets': '['.repeat(MIB - 64),
  'no JSON': `${list('0', MIB - 64)}]`,
}

const chain = (count: number, more: (at: number) => Partial<FlowNode> = () => ({})): string =>
  JSON.stringify(
    flow(
      Array.from({ length: count }, (_, at) =>
        code(
          `n${at}`,
          `export default ({ x }) => ({ y: x + ${at % 7} })`,
          [input('x', 'float', { message: at === 0 ? 'raw' : `m${at - 1}` })],
          [output('y', 'float', { message: `m${at}` })],
          more(at),
        ),
      ),
      { message: 'raw', dtype: 'float' },
    ),
  )
const SOURCE = (at: number): string => `export default ({ x }) => ({ y: x })\n// ${'x'.repeat(250 * 1024)}${at}`
const SETTINGS = { list: Array.from({ length: 18_000 }, (_, at) => at) }

/** Documents of a flow, up to 8 MiB. Each is saved twice: the second save finds that nothing has changed. */
const DOCUMENTS: Record<string, string> = {
  'the most nodes': chain(limits.FLOW_NODES),
  'the most nodes, one changed': chain(limits.FLOW_NODES, at => (at === 7 ? { settings: { changed: true } } : {})),
  'long sources': chain(30, at => ({ source: SOURCE(at) })),
  'long settings': chain(60, () => ({ settings: SETTINGS })),
  'unknown members': `{"nodes":[],${members(300_000)}}`,
  'a node of unknown members': `{"nodes":[{"id":"a",${members(300_000)}}]}`,
  'as many unknown members as an object may have': `{"nodes":[],${members(limits.VALUE_PARTS - 8)}}`,
  'numbers for nodes': `{"nodes":${list('0', 8 * MIB - 256)}}`,
}

/** Read for each route, with the largest page that it has. One that takes a body has those as well that are right for it. */
interface Drive {
  /** Paths below the engine's address; the route's own when absent. */
  readonly paths?: readonly string[]
  /** `$` stands where a large value goes; none: the route takes no body. */
  readonly bodies?: readonly string[]
  /** Why nothing of it can be long. */
  readonly not?: string
}

/** There is none. */
const PANEL = '0195a3c4-7b10-7cc2-9d54-2f1e6a9b0c11'
const SHORT = 'takes no body, and answers a line or two'
const DRIVES: Record<string, Drive> = {
  'GET /flows': { paths: ['/flows?limit=1000'] },
  'POST /flows': { bodies: ['$', '{"name":"refused","document":$}'] },
  'GET /flows/{name}': { paths: ['/flows/wide', '/flows/documents'] },
  'PUT /flows/{name}': {
    paths: ['/flows/refused'],
    bodies: ['{"document":$}', '{"document":{"nodes":$}}', '{"document":{"nodes":[]},"origin":$}'],
  },
  'DELETE /flows/{name}': { paths: ['/flows/r999'] },
  'POST /flows/{name}/rename': { paths: ['/flows/wide/rename'], bodies: ['$'] },
  'POST /flows/{name}/enable': { paths: ['/flows/documents/enable'] },
  'POST /flows/{name}/disable': { paths: ['/flows/documents/disable'] },
  'POST /flows/{name}/purge': { paths: ['/flows/wide/purge'] },
  'GET /flows/{name}/history': { paths: ['/flows/wide/history?limit=1000'] },
  'GET /flows/{name}/history/{commit}': { not: 'driven with the commits of the largest documents, below' },
  'POST /flows/{name}/restore': { paths: ['/flows/wide/restore'], bodies: ['$'] },
  'GET /flows/{name}/nodes/{id}/source': { paths: ['/flows/wide/nodes/pass/source'] },
  'POST /flows/{name}/nodes/{id}/try': {
    paths: ['/flows/wide/nodes/pass/try'],
    bodies: ['{"inputs":{"x":$}}', '{"settings":$}'],
  },
  'GET /messages': { paths: ['/messages?limit=1000'] },
  'POST /messages/': {
    paths: ['/messages/'],
    bodies: ['{"name":"wide.x","value":$}', '[{"name":"wide.x","value":$}]', '$'],
  },
  'GET /messages/{name}': { paths: ['/messages/wide.x'] },
  'POST /messages/{name}': { paths: ['/messages/wide.x'], bodies: ['{"value":$}'] },
  'GET /messages/{name}/history': { paths: ['/messages/wide.x/history?limit=10000'] },
  'GET /nodes/{flow}.{node}': { paths: ['/nodes/wide.pass'] },
  'GET /nodes/{flow}.{node}/errors': { paths: ['/nodes/wide.pass/errors'] },
  'GET /nodes/{flow}.{node}/fires': { paths: ['/nodes/wide.pass/fires?limit=1000'] },
  'POST /nodes/{flow}.{node}/acknowledge': { paths: ['/nodes/wide.pass/acknowledge'] },
  'GET /node-types': { paths: ['/node-types'] },
  'GET /hooks/{flow}/{node}': { paths: ['/hooks/hook/in'] },
  'POST /hooks/{flow}/{node}': { paths: ['/hooks/hook/in'], bodies: ['$'] },
  'PUT /hooks/{flow}/{node}': { not: 'as POST' },
  'PATCH /hooks/{flow}/{node}': { not: 'as POST' },
  'DELETE /hooks/{flow}/{node}': { not: 'as GET' },
  'GET /cascades': { paths: ['/cascades?limit=1000'] },
  'GET /cascades/{id}': { not: SHORT },
  'POST /cascades/{id}/rerun': { not: SHORT },
  'GET /runs/flows/{name}': { paths: ['/runs/flows/wide'] },
  'POST /runs/flows/{name}': { paths: ['/runs/flows/wide'], bodies: ['{"inputs":{"x":$}}', '{"inputs":$}'] },
  'GET /runs': { paths: ['/runs?limit=1000', '/runs?limit=1000&sort=-duration&columns=input.x'] },
  'GET /runs/metrics/names': {},
  'GET /runs/metrics/series': {},
  'GET /runs/metrics/export': {},
  'GET /runs/export': {},
  'GET /runs/{id}': { not: 'text of the reader thread, a page at a time' },
  'GET /runs/{id}/nodes': { not: 'as the run' },
  'GET /runs/{id}/nodes/{node}/why': { not: SHORT },
  'GET /runs/{id}/logs': { not: 'a page of lines of one run, bounded in bytes' },
  'GET /runs/{id}/events': { not: 'events of one run, a page of the list of events' },
  'PATCH /runs/{id}': { not: 'driven with long inputs, below' },
  'DELETE /runs/{id}': { not: SHORT },
  'POST /runs/{id}/cancel': { not: 'driven with long inputs, below' },
  'POST /runs/{id}/retry': { not: SHORT },
  'PUT /artifacts': { not: 'an upload: read as it comes, on the thread of the artifacts' },
  'GET /artifacts': { paths: ['/artifacts?limit=1000'] },
  'GET /artifacts/{digest}': { not: 'streamed from the disk' },
  'POST /artifacts/verify': {},
  'POST /artifacts/sweep': {},
  'GET /flavors': { paths: ['/flavors?limit=256'] },
  'PUT /flavors/{name}': { paths: ['/flavors/small'], bodies: ['$'] },
  'DELETE /flavors/{name}': { paths: ['/flavors/none'] },
  'GET /tile-types': {},
  'GET /dashboards': { paths: ['/dashboards?limit=1000'] },
  'GET /dashboards/{name}': { paths: ['/dashboards/wide'] },
  'PUT /dashboards/{name}': {
    paths: ['/dashboards/wide'],
    bodies: ['{"document":$}', '{"document":{"locked":false,"tiles":$}}', '$'],
  },
  'DELETE /dashboards/{name}': { paths: ['/dashboards/none'] },
  'GET /dashboards/{name}/history': { paths: ['/dashboards/wide/history?limit=1000'] },
  'GET /dashboards/{name}/history/{version}': { paths: ['/dashboards/wide/history/2'] },
  'POST /dashboards/{name}/restore': { paths: ['/dashboards/wide/restore'], bodies: ['$'] },
  'GET /.well-known/oauth-protected-resource': { not: SHORT },
  'GET /.well-known/oauth-protected-resource/mcp': { not: SHORT },
  'GET /.well-known/oauth-authorization-server': { not: SHORT },
  'GET /oauth/authorize': { paths: ['/oauth/authorize?client_id=none'] },
  'GET /oauth/style.css': { not: SHORT },
  'POST /oauth/register': { bodies: ['{"redirect_uris":$}', '$'] },
  'POST /oauth/authorize': { bodies: ['$'] },
  'POST /oauth/token': { bodies: ['{"grant_type":"refresh_token","refresh_token":$}', '$'] },
  'POST /oauth/revoke': { bodies: ['{"token":$}', '$'] },
  'GET /panels': { paths: ['/panels?limit=1000'] },
  'POST /panels': { bodies: ['$'] },
  'GET /panels/me': {},
  'GET /panels/{id}': { not: SHORT },
  'PUT /panels/{id}': { paths: [`/panels/${PANEL}`], bodies: ['$'] },
  'DELETE /panels/{id}': { paths: [`/panels/${PANEL}`] },
  'POST /panels/{id}/approve': { paths: [`/panels/${PANEL}/approve`], bodies: ['$'] },
  'POST /panels/{id}/unpair': { paths: [`/panels/${PANEL}/unpair`] },
  'POST /panels/pairings': { not: SHORT },
  'POST /panels/pairings/{code}/claim': { paths: ['/panels/pairings/AAAAAA/claim'], bodies: ['$'] },
  'GET /workers/resources': {},
  'GET /events': { paths: ['/events?limit=1000'] },
  'GET /observability/summary': {},
  'GET /observability/timeseries': { paths: ['/observability/timeseries?hours=1000'] },
  'GET /metrics': {},
  'GET /utils/health/': {},
  'POST /modules/refresh': { not: SHORT },
  'POST /login/access-token': { bodies: ['$'] },
  'POST /login/session': { bodies: ['$'] },
  'POST /logout': { not: 'ends the session that asks' },
  'GET /users': { paths: ['/users?limit=1000'] },
  'POST /users': { bodies: ['$'] },
  'GET /users/me': {},
  'PATCH /users/me': { bodies: ['$'] },
  'PATCH /users/{name}': { paths: ['/users/none'], bodies: ['$'] },
  'GET /search': { paths: ['/search?q=a&limit=100'] },
  'GET /secrets/': { paths: ['/secrets/?limit=1000'] },
  'PUT /secrets/{name}': { paths: ['/secrets/driven'], bodies: ['$'] },
  'DELETE /secrets/{name}': { paths: ['/secrets/none'] },
  'POST /secret-keys': {},
  'GET /tokens': {},
  'POST /tokens': { bodies: ['$'] },
  'DELETE /tokens/{name}': { paths: ['/tokens/none'] },
  'GET /mcp': { not: 'a stream that carries little' },
  'POST /mcp': {
    bodies: [
      '$',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"publish","arguments":{"name":"wide.x","value":$}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"validate_flow","arguments":{"name":"x","document":{"nodes":$}}}}',
    ],
  },
  'DELETE /mcp': { not: SHORT },
  'GET /clients': { paths: ['/clients?limit=1000'] },
  'POST /clients': { bodies: ['$'] },
  'DELETE /clients/{client_id}': { paths: ['/clients/none'] },
  'POST /users/me/password': { bodies: ['$'] },
  'DELETE /users/{name}': { paths: ['/users/none'] },
  'POST /password-recovery': { bodies: ['$'] },
  'POST /password-reset': { bodies: ['$'] },
  'GET /openapi.json': {},
  'GET /docs': {},
  'GET /docs/favicon-32x32.png': {},
  'GET /docs/start.js': {},
  'GET /docs/swagger-ui-bundle.js': {},
  'GET /docs/swagger-ui.css': {},
  'GET /': {},
  'GET /app': {},
  'GET /app/{path*}': { paths: ['/app/', '/app/flows/none'] },
  'GET /panel': {},
}

let driver: Worker
const ask = async (method: string, path: string, body: string | null = null, large: string | null = null) => {
  driver.postMessage({ method, path, body, large } satisfies Asked)
  const [answered] = (await once(driver, 'message')) as [Answered]
  return answered
}

/** Stretches so far, by route. */
const held = async (): Promise<string> => (await ask('GET', '/metrics')).held

async function begin(): Promise<void> {
  const token = readFileSync(join(live.data_dir, 'token'), 'utf8').trim()
  const workerData: DriverTask = { url: live.url, token, larges: { ...LARGE, ...DOCUMENTS, small: '[]' } }
  driver = new Worker(new URL('../../kit/driver-thread.ts', import.meta.url), { workerData })
  const echo = code('pass', 'export default ({ x }) => ({ y: 1 })', [input('x', 'json')], [output('y', 'int')])
  const hook = node('in', 'webhook', { hmac: null }, [], [output('body', 'json'), output('query', 'json')])
  await live.engine.flows.save('hook', { document: flow([hook]) }, 'tests')
  await live.engine.flows.save('wide', { document: flow([echo], { message: 'x', dtype: 'json' }) }, 'tests')
  // The largest dashboard, twice.
  for (const at of [0, 1]) {
    const answer = await fetch(`${live.url}/dashboards/wide`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ document: wideDashboard(at) }),
    })
    assert.equal(answer.status, 200, await answer.text())
  }
}
after(() => (driver as Worker | undefined)?.terminate())

const wideDashboard = (at: number) => ({
  locked: false,
  tiles: Array.from({ length: limits.DASHBOARD_TILES }, (_, tile) => ({
    id: `t${tile}`,
    type: 'chart',
    settings: {
      title: `${at}${'x'.repeat(64)}`,
      messages: Array.from({ length: 8 }, (_, message) => `wide.x${message}`),
    },
    position: { wide: { x: 0, y: tile, width: 12, height: 1 } },
  })),
})

const offenders: string[] = []
/** What holds the front does so each time; a cold cache, a collection of garbage or another thread's work does not. */
async function drive(method: string, path: string, body: string | null = null, large: string | null = null) {
  let status = 0
  for (let times = 0; times < 4; times++) {
    const before = await held()
    status = (await ask(method, path, body, large)).status
    assert.ok(status < 500, `${method} ${path} with ${large}: ${status}`)
    // A stretch that ends with the answer is seen by the next look.
    await new Promise(resolve => setTimeout(resolve, 5))
    if ((await held()) === before) return status
  }
  offenders.push(`${method} ${path} ${body ?? ''}${large === null ? '' : ` with ${large}`}`)
  return status
}

/** Of the token with which the driver asks: a key belongs to a flow and a user. */
const USER = 'admin'

const OF = (flow: string) => ({ limit: 1, offset: 0, flow, group: null, status: null, since: null, before: null })

const drives = () =>
  Object.entries(DRIVES).flatMap(([route, { paths, bodies, not }]) => {
    const [method, path] = route.split(' ') as [string, string]
    return not === undefined ? [{ method, paths: paths ?? [path], bodies: bodies ?? [null] }] : []
  })

test('every route is driven, or it is said why not', () => {
  const anything: unknown = new Proxy(() => anything, { get: () => anything })
  const routes = allRoutes(anything as Services).map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(Object.keys(DRIVES).sort(), routes.sort())
})

test('no request with the largest body that it may have holds the front', async () => {
  await begin()
  // What is compiled and loaded with the first request of a route is no part of this.
  for (const { method, paths, bodies } of drives())
    for (const body of bodies) for (let times = 0; times < 3; times++) await ask(method, paths[0]!, body, 'small')
  for (const { method, paths, bodies } of drives())
    for (const body of bodies)
      if (body !== null) for (const large of Object.keys(LARGE)) await drive(method, paths[0]!, body, large)
  assert.deepEqual(offenders.splice(0), [])
})

test('no save of the largest document that a flow may have holds the front', async () => {
  const statuses: number[] = []
  for (const large of Object.keys(DOCUMENTS)) {
    for (let times = 0; times < 2; times++)
      statuses.push(await drive('PUT', '/flows/documents', '{"document":$}', large))
    await drive('GET', '/flows/documents')
    const params = '{"name":"validate_flow","arguments":{"name":"documents","document":$}}'
    await drive('POST', '/mcp', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`, large)
    const read = '{"name":"read_flow","arguments":{"name":"documents"}}'
    await drive('POST', '/mcp', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${read}}`)
  }
  const [saved, too_large, refused] = [200, 413, 422]
  assert.deepEqual(
    statuses,
    [saved, saved, saved, saved, too_large, too_large, refused, too_large].flatMap(status => [status, status]),
  )
  assert.deepEqual(offenders.splice(0), [])
})

test(`no list of ${ROWS} rows holds the front`, async () => {
  const document = flow([], { message: 'x', dtype: 'int' })
  await Promise.all(Array.from({ length: ROWS }, (_, at) => live.engine.flows.save(`r${at}`, { document }, 'tests')))
  for (const { method, paths, bodies } of drives())
    if (bodies[0] === null) for (const path of paths) await drive(method, path)
  for (const name of ['list_flows', 'list_issues', 'list_messages', 'list_events']) {
    const params = `{"name":"${name}","arguments":{"limit":${limits.MCP_LIST_ITEMS}}}`
    await drive('POST', '/mcp', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
  }
  assert.deepEqual(offenders.splice(0), [])
})

test('neither a look at a commit of the largest document nor going back to one holds the front', async () => {
  const { items } = await live.engine.flows.history('documents', { limit: 100, offset: 0 })
  const commits = items.filter(({ action }) => action === 'save').map(({ commit }) => commit)
  assert.equal(commits.length, 4)
  const statuses: number[] = []
  for (const commit of commits) {
    statuses.push(await drive('GET', `/flows/documents/history/${commit}`))
    statuses.push(await drive('POST', '/flows/documents/restore', JSON.stringify({ commit })))
  }
  assert.deepEqual(new Set(statuses), new Set([200]))
  assert.deepEqual(offenders.splice(0), [])
})

test('neither a repeat of the key of a run with a result of 8 MiB nor a cancellation of one with long inputs holds the front', async () => {
  const list = 'Array.from({ length: 500_000 }, (_, at) => at % 10)'
  const makes = (id: string, source: string) =>
    code(id, source, [input('x', 'json', { message: 'x' })], [output('y', 'json', { message: id })])
  const lists = Array.from({ length: 8 }, (_, at) => makes(`list${at}`, `export default () => ({ y: ${list} })`))
  const waits = makes('waits', 'export default async () => { await new Promise(() => {}) }')
  await live.engine.flows.save('large', { document: flow(lists, { message: 'x', dtype: 'json' }) }, 'tests')
  await live.engine.flows.save('waits', { document: flow([waits], { message: 'x', dtype: 'json' }) }, 'tests')
  const key = { idempotency_key: 'k' }
  const statuses: number[] = []
  const { run } = await live.engine.runs.create('large', { inputs: { x: 1 }, ...key }, USER)
  const status = async (id: string) => (await live.engine.runs.list(OF(id))).items[0]?.status
  await eventually(async () => (await status('large')) === 'succeeded', 'the run has ended')
  statuses.push(await drive('POST', '/runs/flows/large', JSON.stringify({ inputs: { x: 1 }, ...key })))
  statuses.push(await drive('POST', '/runs/flows/large', JSON.stringify({ inputs: { none: 1 }, ...key })))
  statuses.push(await drive('GET', `/runs/${run.id}`))
  statuses.push(await drive('GET', `/runs/${run.id}/nodes`))
  const inputs = { x: Array.from({ length: 450_000 }, (_, at) => at % 10) }
  const waiting = await live.engine.runs.create('waits', { inputs }, USER)
  await drive('POST', `/runs/${waiting.run.id}/cancel`)
  statuses.push(await drive('PATCH', `/runs/${waiting.run.id}`, JSON.stringify({ note: 'too long' })))
  const { items } = await live.engine.runs.list(OF('waits'))
  assert.notEqual(items[0]!.cancel_requested_at, null)
  assert.deepEqual(new Set(statuses), new Set([200]))
  assert.deepEqual(offenders.splice(0), [])
})

test('neither a secret of the largest size nor a run with long results that hold it holds the front', async () => {
  /** Does it hold the front each time? */
  const holds = async (what: (at: number) => Promise<unknown>): Promise<boolean> => {
    for (let at = 0; at < 4; at++) {
      const before = await held()
      await what(at)
      await new Promise(resolve => setTimeout(resolve, 5))
      if ((await held()) === before) return false
    }
    return true
  }
  for (const character of ['x', 'ü', '日', '😀', '"', "'", '\n']) {
    const times = limits.SECRET_BYTES / Buffer.byteLength(character) - 1
    const put = async (at: number): Promise<void> => {
      const value = JSON.stringify({ value: at + character.repeat(times) })
      assert.equal((await ask('PUT', '/secrets/long', value)).status, 204)
    }
    assert.equal(await holds(put), false, JSON.stringify(character))
  }
  await ask('PUT', '/secrets/long', JSON.stringify({ value: 'hunter2日'.repeat(5_000) }))
  const value = `'hunter2日'.repeat(5_000)`
  const slips = (id: string, y: string) =>
    code(
      id,
      `export default () => ({ y: ${y} })`,
      [input('x', 'json', { message: 'x' })],
      [output('y', 'json', { message: id })],
    )
  const nodes = [
    slips('text', `'日'.repeat(100_000) + ${value}`),
    slips('repeats', `'hunter2日'.repeat(30_000) + '|' + ${value}`),
    slips('texts', `Array(20_000).fill('hunter2日')`),
    slips('objects', `[...Array(2_000).fill({ a: [1], b: 'hunter2日' }), ${value}]`),
  ]
  await live.engine.flows.save('slips', { document: flow(nodes, { message: 'x', dtype: 'json' }) }, 'tests')
  const runs = async (at: number): Promise<void> => {
    const inputs = { x: [at, 'hunter2日'.repeat(20_000)] }
    const { run } = await live.engine.runs.create('slips', { inputs }, USER)
    await eventually(async () => (await live.engine.runs.list(OF('slips'))).items[0]?.status === 'succeeded', run.id)
  }
  assert.equal(await holds(runs), false)
})

const work = (cpu_ms: number) => () => {
  const began = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(began)
    if ((user + system) / 1000 > cpu_ms) return
  }
}

test('a request during which the thread had no processor is not counted, whatever ran before it', () => {
  const watch = new FrontWatch({ log: new LogDouble() })
  work(2 * limits.FRONT_HELD_MS)()
  const asleep = new Int32Array(new SharedArrayBuffer(4))
  watch.run({ label: 'GET /flows', pending: 0 }, () => void Atomics.wait(asleep, 0, 0, 3 * limits.FRONT_HELD_MS))
  assert.deepEqual([...watch.counts().by], [])
})

test('the watch counts what holds the thread, by route, and logs it once a minute', () => {
  const log = new LogDouble()
  const watch = new FrontWatch({ log })
  const route = { label: 'PUT /flows/{name}', pending: 0 }
  watch.run(route, () => {})
  assert.equal(watch.counts().stretches, 0)
  for (let times = 0; times < 3; times++) watch.run(route, work(limits.FRONT_HELD_MS + 1))
  assert.deepEqual([...watch.counts().by], [['PUT /flows/{name}', 3]])
  assert.deepEqual(
    log.lines.map(line => [line.level, line.event, line.fields['by']]),
    [['warn', 'front_held', 'PUT /flows/{name}']],
  )
})

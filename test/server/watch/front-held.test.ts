import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { FrontWatch } from '../../../server/watch/front-watch.ts'
import { sharedEngine } from '../../kit/live-engine.ts'
import { code, flow, input, output } from '../../kit/live-story.ts'
import { LogDouble } from '../../kit/served-front.ts'

// The watch looks every millisecond, beside each request.
const live = sharedEngine({ FLOW_LANES: '2' }, { front_look_ms: 1 })
let token = ''

async function ask(method: string, path: string, body?: string, type = 'application/json'): Promise<number> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
  if (body !== undefined) headers['content-type'] = type
  const answer = await fetch(`${live.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
  await answer.arrayBuffer()
  return answer.status
}

const MIB = 1024 * 1024
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

/** Routes that take a JSON body, and one that is right for them; `$` stands where a large value goes. */
const BODIES: readonly (readonly [method: string, path: string, body: string])[] = [
  ['POST', '/messages/wide.x', '{"value":$}'],
  ['POST', '/messages/', '{"name":"wide.x","value":$}'],
  ['POST', '/messages/', '[{"name":"wide.x","value":$}]'],
  ['POST', '/messages/', '$'],
  ['POST', '/runs/flows/wide', '{"inputs":{"x":$}}'],
  ['POST', '/runs/flows/wide', '{"inputs":$}'],
  ['PUT', '/flavors/small', '$'],
  ['POST', '/users', '$'],
  ['POST', '/users/me/password', '$'],
  ['POST', '/password-recovery', '$'],
  ['POST', '/password-reset', '$'],
  ['POST', '/login/access-token', '$'],
  ['POST', '/flows/wide/rename', '$'],
  ['POST', '/flows/wide/restore', '$'],
  ['POST', '/flows', '$'],
  ['PUT', '/flows/refused', '{"document":$}'],
  ['PUT', '/flows/refused', '{"document":{"nodes":$}}'],
  ['PUT', '/flows/refused', '{"document":{"nodes":[]},"origin":$}'],
]

const READS = [
  '/flows',
  '/flows?limit=1000',
  '/flows/wide',
  '/flows/wide/history?limit=1000',
  '/flows/wide/nodes/pass/source',
  '/messages?limit=1000',
  '/messages/wide.x',
  '/messages/wide.x/history?limit=10000',
  '/nodes/wide.pass/errors',
  '/cascades?limit=1000',
  '/runs?limit=1000',
  '/runs/metrics/names',
  '/runs/metrics/series',
  '/runs/metrics/export',
  '/runs/export',
  '/artifacts?limit=1000',
  '/flavors?limit=256',
  '/workers/resources',
  '/events?limit=1000',
  '/observability/summary',
  '/observability/timeseries?hours=1000',
  '/metrics',
  '/utils/health/',
  '/users?limit=1000',
  '/users/me',
  '/openapi.json',
]

/** By requests: the test runs in the engine's own thread, and its own work is outside of them. */
async function held(): Promise<string[]> {
  const answer = await fetch(`${live.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  return (await answer.text())
    .split('\n')
    .filter(line => line.startsWith('svc_front_held_total{') && !line.includes('outside'))
}

test('no request with the largest body that it may have holds the front', async () => {
  token = readFileSync(join(live.data_dir, 'token'), 'utf8').trim()
  const echo = code('pass', 'export default ({ x }) => ({ y: 1 })', [input('x', 'json')], [output('y', 'int')])
  await live.engine.flows.save('wide', { document: flow([echo], { message: 'x', dtype: 'json' }) }, 'tests')
  // What is compiled and loaded with the first request of a route is no part of this.
  for (const path of READS) await ask('GET', path)
  for (const [method, path, body] of BODIES)
    for (let times = 0; times < 3; times++) await ask(method, path, body.replace('$', '[]'))
  const offenders: string[] = []
  const drive = async (what: string, method: string, path: string, body?: string): Promise<void> => {
    // What holds the front does so each time; a cold cache or a collection of garbage does not.
    for (let times = 0; times < 3; times++) {
      const before = await held()
      const status = await ask(method, path, body)
      assert.ok(status < 500, `${what}: ${status}`)
      if ((await held()).join() === before.join()) return
    }
    offenders.push(what)
  }
  for (const [kind, large] of Object.entries(LARGE))
    for (const [method, path, body] of BODIES)
      await drive(`${method} ${path} ${body} with ${kind}`, method, path, body.replace('$', large))
  for (const path of READS) await drive(`GET ${path}`, 'GET', path)
  assert.deepEqual(offenders, [])
})

test('the watch counts what holds the thread, by route, and logs it once a minute', () => {
  const log = new LogDouble()
  const watch = new FrontWatch({ log })
  const route = { label: 'PUT /flows/{name}', pending: 0 }
  const work = (cpu_ms: number) => () => {
    const began = process.threadCpuUsage()
    for (;;) {
      const { user, system } = process.threadCpuUsage(began)
      if ((user + system) / 1000 > cpu_ms) return
    }
  }
  watch.run(route, () => {})
  assert.equal(watch.counts().stretches, 0)
  for (let times = 0; times < 3; times++) watch.run(route, work(limits.FRONT_HELD_MS + 1))
  assert.deepEqual([...watch.counts().by], [['PUT /flows/{name}', 3]])
  assert.deepEqual(
    log.lines.map(line => [line.level, line.event, line.fields['by']]),
    [['warn', 'front_held', 'PUT /flows/{name}']],
  )
})

/**
 * A mixed load for as long as it is told, and how much memory the engine holds meanwhile. By hand; half an hour says something.
 *
 *   node test/faults/soak.ts 30        minutes (Node 22: node_modules/.bin/node)
 *
 * Numbers, texts, generators, asynchronous bodies, sockets that come and go, artifacts, batch runs, saves, reads of every
 * list, refused requests: each with a steady pace. A line every 20 seconds; at the end the growth over the second half, a
 * straight line through it, and 1 as exit code when that is over 2 MiB a minute.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { input, output } from '../kit/live-story.ts'
import { randomFrom, seed } from '../kit/random.ts'
import { directoryFor, Endings, Spawned } from '../kit/spawned.ts'

const LOOK_MS = 20_000
const MIB = 1024 * 1024
const MOST_GROWTH_MIB = 2
const SOCKETS = 10
const SOCKET_MS = 2_000
const TEXT_CHARACTERS = 8_000
const ARTIFACT_BYTES = 300_000

const minutes = Number(process.argv[2] ?? 30)
if (!(minutes > 0)) throw new RangeError('how many minutes? for example: node test/faults/soak.ts 30')
const random = randomFrom(seed)
const done = new Map<string, number>()
const refused = new Map<string, number>()
const endings = new Endings()
const home = directoryFor(endings)
const data_dir = join(home, 'data')
const engine = Spawned.svc(endings, { cwd: home, argv: ['serve', '--plain', '--port', '0', '--data-dir', data_dir] })
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void endings.end().then(() => process.exit(130)))
const url = await engine.ready()
const authorization = `Bearer ${readFileSync(join(data_dir, 'token'), 'utf8').trim()}`

try {
  process.exitCode = await soak()
} finally {
  await endings.end()
}

async function soak(): Promise<number> {
  await saveFlows()
  console.log(`${minutes} minutes, SEED=${seed}, ${url}`)
  const until_ms = performance.now() + minutes * 60_000
  const began_ms = performance.now()
  const looks: { minute: number; mib: number }[] = []
  const going = Object.entries(loads()).flatMap(([name, { pause_ms, step, at_once = 1 }]) =>
    Array.from({ length: at_once }, () => keepOn(name, step, pause_ms, until_ms)),
  )
  while (performance.now() < until_ms && engine.child.exitCode === null) {
    await sleep(Math.min(LOOK_MS, Math.max(0, until_ms - performance.now())))
    const minute = (performance.now() - began_ms) / 60_000
    const mib = residentBytes(engine.child.pid!) / MIB
    looks.push({ minute, mib })
    const figures = [...done].map(([name, count]) => `${count} ${name}`).join(', ')
    const failures = [...refused].map(([what, count]) => `${what}: ${count}`).join(', ')
    console.log(`${minute.toFixed(1)} min  ${mib.toFixed(0)} MiB  ${figures}  ${failures}`)
  }
  await Promise.all(going)
  if (engine.child.exitCode !== null) {
    console.error(`the engine ended with ${engine.child.exitCode}: ${engine.stderr}`)
    return 1
  }
  const growth = slope(looks.slice(looks.length >> 1))
  console.log(`growth over the second half: ${growth.toFixed(2)} MiB a minute (at most ${MOST_GROWTH_MIB})`)
  return growth <= MOST_GROWTH_MIB ? 0 : 1
}

interface Load {
  pause_ms: number
  step: () => Promise<unknown>
  at_once?: number
}

function loads(): Record<string, Load> {
  const publish = (name: string, values: unknown[]): Promise<unknown> =>
    ask('POST', '/messages/', JSON.stringify(values.map(value => ({ name, value }))))
  const reads = [
    [
      '/messages/soak.s/history?limit=200',
      '/messages',
      '/flows',
      '/flows/soak',
      '/nodes/soak.sum',
      '/nodes/soak.sum/errors',
    ],
    [
      '/events?limit=50',
      '/cascades?limit=50',
      '/runs?limit=20',
      '/observability/summary',
      '/metrics',
      '/utils/health/',
    ],
  ].flat()
  return {
    numbers: { pause_ms: 10, step: () => publish('soak.x', [random(), random(), random(), random(), random()]) },
    texts: { pause_ms: 10, step: () => publish('soak.t', ['é'.repeat(Math.floor(random() * TEXT_CHARACTERS))]) },
    generators: { pause_ms: 50, step: () => publish('soak.go', [1]) },
    refusals: { pause_ms: 300, step: () => publish('soak.none', [1]) },
    artifacts: {
      pause_ms: 50,
      step: async () => {
        const stored = await ask('PUT', '/artifacts', randomBytes(Math.floor(random() * ARTIFACT_BYTES)))
        if (stored !== null)
          await ask('GET', `/artifacts/${(JSON.parse(stored.toString()) as { digest: string }).digest}`)
      },
    },
    runs: {
      pause_ms: 200,
      step: () => ask('POST', '/runs/flows/batch', JSON.stringify({ inputs: { a: Math.floor(random() * 1e9) } })),
    },
    saves: {
      pause_ms: 500,
      step: () =>
        save(`other${Math.floor(random() * 5)}`, [node('n', `({ x }) => ({ y: x + ${random()} })`, 'x', 'y')]),
    },
    reads: {
      pause_ms: 100,
      step: async () => {
        for (const path of reads) await ask('GET', path)
      },
    },
    sockets: { pause_ms: 0, step: listen, at_once: SOCKETS },
  }
}

/** Until the time is over; what is refused is counted, since a full flow may refuse. */
async function keepOn(name: string, step: () => Promise<unknown>, pause_ms: number, until_ms: number): Promise<void> {
  while (performance.now() < until_ms && engine.child.exitCode === null) {
    await step()
    done.set(name, (done.get(name) ?? 0) + 1)
    await sleep(pause_ms)
  }
}

async function listen(): Promise<void> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws/flows`, { headers: { authorization } })
  await once(socket, 'open')
  socket.on('message', () => done.set('frames', (done.get('frames') ?? 0) + 1))
  socket.send(JSON.stringify({ type: 'subscribe', names: ['soak.s', 'soak.u', 'soak.j'] }))
  await sleep(random() * SOCKET_MS)
  socket.close()
  await once(socket, 'close')
}

async function ask(method: string, path: string, body?: string | Buffer): Promise<Buffer | null> {
  const type = typeof body === 'string' ? 'application/json' : 'application/octet-stream'
  const response = await fetch(url + path, {
    method,
    headers: { authorization, 'content-type': type },
    ...(body === undefined ? {} : { body }),
  })
  const answer = Buffer.from(await response.arrayBuffer())
  if (response.ok) return answer
  const what = `${method} ${path.split(/[?]/)[0]} ${response.status}`
  refused.set(what, (refused.get(what) ?? 0) + 1)
  return null
}

function node(id: string, source: string, reads: string, gives: string) {
  const dtype = reads === 't' ? 'str' : 'float'
  return {
    ...{ id, type: 'code', language: 'js', source: `export default ${source}` },
    ports: { inputs: reads.split(' ').map(name => input(name, dtype)), outputs: [output(gives, dtype)] },
  }
}

function save(name: string, nodes: readonly unknown[], inputs = [{ message: 'x', dtype: 'float' }]): Promise<unknown> {
  return ask('PUT', `/flows/${name}`, JSON.stringify({ document: { inputs, nodes } }))
}

async function saveFlows(): Promise<void> {
  await save(
    'soak',
    [
      node(
        'sum',
        '({ x }, ctx) => { ctx.state.n = (ctx.state.n ?? 0) + x; ctx.metric("x", x); return { s: ctx.state.n % 1e6 } }',
        'x',
        's',
      ),
      node('join', '({ x, s }) => ({ j: x + s })', 'x s', 'j'),
      node('later', 'async ({ j }) => { await new Promise(r => setTimeout(r, 1)); return { l: j } }', 'j', 'l'),
      node(
        'up',
        '({ t }, ctx) => { if (t.length % 100 === 0) ctx.log(String(t.length)); return { u: t.toUpperCase() } }',
        't',
        'u',
      ),
      node('many', 'function* ({ go }) { for (let i = 0; i < 50; i++) yield { g: i } }', 'go', 'g'),
    ],
    ['x', 'go'].map(message => ({ message, dtype: 'float' })).concat([{ message: 't', dtype: 'str' }]),
  )
  const trains = '({ a }, ctx) => { for (let i = 0; i < 20; i++) ctx.metric("loss", i, i); return { r: a * 2 } }'
  await save('batch', [node('train', trains, 'a', 'r')], [{ message: 'a', dtype: 'float' }])
  if (refused.size > 0) throw new Error(`the flows were refused: ${[...refused.keys()].join(', ')}`)
}

/** Of the process and all that it started. */
function residentBytes(pid: number): number {
  let bytes = 0
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const status = readFileSync(`/proc/${entry}/status`, 'utf8')
      const own = Number(entry) === pid
      if (own) bytes += Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024
      else if (Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) === pid) bytes += residentBytes(Number(entry))
    } catch {
      // It has ended meanwhile.
    }
  }
  return bytes
}

/** Of the straight line with the least squares. */
function slope(looks: readonly { minute: number; mib: number }[]): number {
  const mean = (of: (look: { minute: number; mib: number }) => number): number =>
    looks.reduce((sum, look) => sum + of(look), 0) / looks.length
  const minute = mean(look => look.minute)
  const mib = mean(look => look.mib)
  const over = looks.reduce((sum, look) => sum + (look.minute - minute) ** 2, 0)
  return over === 0 ? 0 : looks.reduce((sum, look) => sum + (look.minute - minute) * (look.mib - mib), 0) / over
}

/**
 * Latency from a publish on one socket to the value on another, at 10,000 values a second for 10 seconds; and the hop from
 * a publish to the start of a body on an idle engine.
 *
 * The load generator is a process with two threads (sender, receiver); what it loads is another process. On two cores they
 * share: the floor's one thread, Node-RED's one thread, or our front and lane (the store wakes 20 times a second) run beside
 * sender and receiver. Latencies are lower for less: `ours_over_rival` under 1 is better.
 */
import { join } from 'node:path'
import { passedThrough, type RunningPartner, startOurs } from './engine.ts'
import { type Bench, type Contestant, compare, type Figures, progress, type Row, RUNS } from './kit.ts'
import { type FlowEntry, functionNode, type NodeRed, startNodeRed, tab } from './node-red.ts'
import { Partner } from './partner.ts'
import type { SocketLatency, SocketLoad } from './partners/loads/socket-load.ts'

const RATE_PER_S = 10_000
const SECONDS = 10
const WARM_UP_SECONDS = 2
const HOPS = 300
const HOP_EVERY_MS = 2
const partnerFile = (name: string): string => join(import.meta.dirname, 'partners', `${name}.ts`)

const bench: Bench = {
  name: 'live-latency',
  shows: 'publish on a socket to value on another through 3 nodes at 10,000/s, and the hop to a body on an idle engine',
  floor: 'a uWebSockets.js echo between two sockets; for the hop a bare Atomics.wait wake-up',
  rival: 'Node-RED 4 headless: websocket in, 3 function nodes, websocket out',
  async run(): Promise<Row[]> {
    const wake = await Partner.start(partnerFile('floors/bare-wake'))
    const ours = await startOurs()
    const contestants = { floor: hopsOf(wake, 'pass'), ours: hopsOf(ours.partner, 'hops') }
    for (const contestant of Object.values(contestants)) await contestant()
    const hops = await compare({ unit: 'us', runs: RUNS, ...contestants })
    await wake.stop()

    const load = await Partner.start(partnerFile('loads/socket-load'))
    const echo = await Partner.start(partnerFile('floors/uws-echo'))
    const { port } = await echo.ask<{ port: number }>('listen')
    const rival = await startNodeRed(nodeRedFlow())
    await ours.partner.ask('save', { name: 'latency', document: passedThrough(3) })
    const ends = { floor: echoLoad(port), ours: ourLoad(ours), rival: nodeRedLoad(rival) }
    for (const warmed of Object.values(ends)) await socketsOf(load, warmed, WARM_UP_SECONDS)()
    const sockets = await compare({
      unit: 'ms',
      runs: RUNS,
      floor: socketsOf(load, ends.floor),
      ours: socketsOf(load, ends.ours),
      rival: socketsOf(load, ends.rival),
    })
    return [...sockets, ...hops]
  },
}
export default bench

type Ends = Pick<SocketLoad, 'publisher' | 'subscriber' | 'before' | 'after'>

const socketsOf =
  (load: Partner, ends: Ends, seconds = SECONDS): Contestant =>
  async (): Promise<Figures> => {
    const latency = await load.ask<SocketLatency>('pass', { ...ends, rate_per_s: RATE_PER_S, seconds })
    if (latency.received < latency.sent)
      progress(`${latency.sent - latency.received} of ${latency.sent} did not arrive`)
    return { p50: latency.p50_ms, p99: latency.p99_ms, 'p99.9': latency.p99_9_ms }
  }

const hopsOf =
  (partner: Partner, ask: string): Contestant =>
  async (): Promise<Figures> => {
    const { p50_us } = await partner.ask<{ p50_us: number }>(ask, { hops: HOPS, every_ms: HOP_EVERY_MS })
    return { 'hop p50': p50_us }
  }

function ourLoad({ url, token }: RunningPartner): Ends {
  const end = { url: `${url.replace('http', 'ws')}/ws/flows`, headers: { authorization: `Bearer ${token}` } }
  return {
    publisher: end,
    subscriber: { ...end, first: JSON.stringify({ type: 'subscribe', names: ['latency.last'] }) },
    before: '{"type":"publish","id":1,"name":"latency.first","value":',
    after: '}',
  }
}

function echoLoad(port: number): Ends {
  const url = `ws://127.0.0.1:${port}/`
  return { publisher: { url }, subscriber: { url }, before: '{"type":"publish","value":', after: '}' }
}

function nodeRedLoad({ port }: NodeRed): Ends {
  return {
    publisher: { url: `ws://127.0.0.1:${port}/in` },
    subscriber: { url: `ws://127.0.0.1:${port}/out` },
    before: '{"value":',
    after: '}',
  }
}

function nodeRedFlow(): FlowEntry[] {
  const listener = (id: string): FlowEntry => ({ id, type: 'websocket-listener', path: `/${id}`, wholemsg: 'true' })
  return [
    tab('tab'),
    listener('in'),
    listener('out'),
    { id: 'receive', type: 'websocket in', z: 'tab', server: 'in', client: '', x: 0, y: 0, wires: [['first']] },
    // Without the session of the publisher the value goes to every socket of the way out.
    functionNode('first', 'return { value: msg.value };', ['second']),
    functionNode('second', 'return msg;', ['third']),
    functionNode('third', 'return msg;', ['send']),
    { id: 'send', type: 'websocket out', z: 'tab', server: 'out', client: '', x: 0, y: 0, wires: [] },
  ]
}

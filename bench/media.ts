/**
 * Frames of 50 KB to 20 sockets, beside 20 more that read nothing. `25 a second`: a body publishes a volatile artifact each 40 ms; measured is the time
 * from the publish of its reference to the last byte of its frame at each reading socket. `unthrottled`: references of frames in a full volatile store are
 * published faster than sockets can take their frames, on the thread that sends, as the floor does it; they get the newest one of each batch; measured
 * are the bytes that they get. A producer on another thread would measure who gets the processors of the machine.
 *
 * The floor has no sockets that read nothing when it publishes as fast as it can: it would keep 64 MiB for each of them.
 *
 * `per CPU`: over the processor time of the thread that sends, the main one of each server, since others may need the machine.
 *
 * `read`: what `ctx.read` of a volatile artifact of the same size takes in a body on a lane, the median of 2,000; the floor is a copy of a Buffer.
 *
 * `late`: frames that came more than one interval (40 ms) after their reference was published. `rss grown`: resident memory of the server at its
 * highest after a pass, over that before the first frame; the bound is that of the volatile store and 64 MB.
 */
import { join } from 'node:path'
import { limits } from '../protocol/limits.ts'
import type { FlowDocument } from '../protocol/nouns/flow-document.ts'
import type { ArtifactReference } from '../protocol/values/dtype.ts'
import { type Bench, type Contestant, compare, median, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'
import type { FrameClients, MediaSeen } from './partners/loads/frame-load.ts'

const READING = 20
const STALLED = 20
const BYTES = 50_000
const EVERY_MS = 40
const PACED_SECONDS = 8
const FAST_SECONDS = 4
const FAST_EVERY_MS = 0.3
const FAST_FRAMES = 64
/** More than the ring of the volatile store holds: it is full from then on. */
const FILL_FRAMES = Math.ceil((1.25 * limits.VOLATILE_BYTES) / BYTES)
const READ_BYTES = 256 * 1024
const MB = 1e6

const SHOT = `
  const bytes = Buffer.alloc(${BYTES}, 7)
  const shoot = async (number, ctx) => {
    bytes.writeUInt32LE(number >>> 0)
    const picture = await ctx.artifact(bytes, 'image/jpeg', { volatile: true })
    return { picture: { ...picture, meta: { us: Number(process.hrtime.bigint()) / 1000 } } }
  }`
const camera = (body: string): FlowDocument => flowOf(body, 'picture')
function flowOf(body: string, message: 'picture' | 'us'): FlowDocument {
  const dtype = message === 'us' ? 'float' : 'image'
  return {
    inputs: [{ message: 'go', dtype: 'float' }],
    nodes: [
      {
        id: 'body',
        type: 'code',
        language: 'js',
        source: `${SHOT}\nexport default ${body}`,
        ports: { inputs: [{ name: 'go', dtype: 'float' }], outputs: [{ name: message, dtype }] },
      },
    ],
  }
}
const PACED = camera('({ go }, ctx) => shoot(go, ctx)')
/** Frames that are there already, as many as the store has room for: what is measured is the way out, past a full ring. */
const FILL: FlowDocument = {
  inputs: [
    { message: 'go', dtype: 'float' },
    { message: 'picture', dtype: 'image' },
  ],
  nodes: [
    {
      id: 'body',
      type: 'code',
      language: 'js',
      source: `${SHOT}
export default async ({ go }, ctx) => {
  const pictures = []
  for (let number = 0; number < go; number++) pictures.push((await shoot(number, ctx)).picture)
  return { pictures: pictures.slice(-${FAST_FRAMES}) }
}`,
      ports: { inputs: [{ name: 'go', dtype: 'float' }], outputs: [{ name: 'pictures', dtype: 'json' }] },
    },
  ],
}
const READS = flowOf(
  `async ({ go }, ctx) => {
    const reference = await ctx.artifact(Buffer.alloc(${BYTES}, 9), 'image/jpeg', { volatile: true })
    const taken = []
    for (let left = go; left > 0; left--) {
      const from = performance.now()
      await ctx.read(reference)
      taken.push(performance.now() - from)
      if (left % 50 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    return { us: 1000 * taken.sort((a, b) => a - b)[go >> 1] }
  }`,
  'us',
)
const READ_COUNT = 2_000

const bench: Bench = {
  name: 'media',
  shows: 'frames of 50 KB from a body to 20 sockets, beside 20 that read nothing',
  floor: 'bare uWebSockets.js: one binary publish of the frame on one topic',
  rival: 'the same: nothing else in Node fans out as fast',
  async run(): Promise<Row[]> {
    const partner = (file: string): Promise<Partner> => Partner.start(join(import.meta.dirname, 'partners', file))
    const [raw, ours, load] = await Promise.all([
      partner('floors/raw-media.ts'),
      partner('ours/engine.ts'),
      partner('loads/frame-load.ts'),
    ])
    const { port } = await raw.ask<{ port: number }>('listen')
    const engine = await ours.ask<{ url: string; token: string }>('start', { lanes: 2 })
    await ours.ask('save', { name: 'paced', document: PACED })
    await ours.ask('save', { name: 'fast', document: FILL })
    await ours.ask('save', { name: 'reads', document: READS })
    const floor = contestant(
      load,
      raw,
      { port, path: '/ws', protocol: 'svc.v1', first: () => '{}' },
      {
        fill: () => Promise.resolve(),
        paced: () => raw.ask('every', { seconds: PACED_SECONDS, every_ms: EVERY_MS, bytes: BYTES }),
        fast: () => raw.ask('all', { seconds: FAST_SECONDS, reading: READING, bytes: BYTES }),
        read_us: async () => copied_us(),
      },
      0,
    )
    let pictures: ArtifactReference[] = []
    const measured = contestant(
      load,
      ours,
      {
        port: Number(new URL(engine.url).port),
        path: '/ws/flows',
        protocol: `svc.v1, bearer.${engine.token}`,
        first: flow => JSON.stringify({ type: 'media', names: [`${flow}.picture`] }),
      },
      {
        paced: () => ours.ask('tick', { name: 'paced.go', every_ms: EVERY_MS, seconds: PACED_SECONDS }),
        fill: async () => {
          pictures = await ours.ask('answered', { ask: 'fast.go', value: FILL_FRAMES, answer: 'fast.pictures' })
        },
        fast: () => {
          const asked = { name: 'fast.picture', values: pictures, every_ms: FAST_EVERY_MS, seconds: FAST_SECONDS }
          return ours.ask('turnAbout', asked)
        },
        read_us: () => ours.ask<number>('answered', { ask: 'reads.go', value: READ_COUNT, answer: 'reads.us' }),
      },
      STALLED,
    )
    const unit = {
      '25 a second p50': 'ms',
      '25 a second p99': 'ms',
      '25 a second longest': 'ms',
      late: 'frames',
      received: 'share',
      unthrottled: 'MB/s',
      'unthrottled per CPU': 'MB/CPU s',
      read: 'us',
      'rss grown': 'MB',
    }
    const rows = await compare({ unit, runs: RUNS, floor, ours: measured })
    await ours.ask('close')
    await Promise.all([raw.stop(), ours.stop(), load.stop()])
    return rows.map(row => ({ ...row, rival: row.floor, ours_over_rival: row.ours_over_floor }))
  },
}
export default bench

interface Server extends Pick<FrameClients, 'port' | 'path' | 'protocol'> {
  first(flow: 'paced' | 'fast'): string
}

function contestant(
  load: Partner,
  server: Partner,
  { port, path, protocol, first }: Server,
  shows: { fill(): Promise<unknown>; paced(): Promise<unknown>; fast(): Promise<unknown>; read_us(): Promise<number> },
  /** Beside those that are published to as fast as possible. */
  stalled: number,
): Contestant {
  const pass = async (which: 'paced' | 'fast'): Promise<MediaSeen> => {
    const clients = {
      port,
      path,
      protocol,
      reading: READING,
      stalled: which === 'paced' ? STALLED : stalled,
      read_bytes: READ_BYTES,
      first: first(which),
    }
    await load.ask('open', clients satisfies FrameClients)
    await load.ask('start')
    await shows[which]()
    const seen = await load.ask<MediaSeen>('seen')
    highest = Math.max(highest, await server.ask<number>('rss'))
    await load.ask('close')
    return seen
  }
  let before = 0
  let highest = 0
  return async () => {
    if (before === 0) before = await server.ask<number>('rss')
    const paced = await pass('paced')
    await shows.fill()
    const cpu = await server.ask<number>('cpu')
    const fast = await pass('fast')
    const spent = (await server.ask<number>('cpu')) - cpu
    const read = await shows.read_us()
    const at = (share: number): number => paced.late_ms[Math.floor(share * (paced.late_ms.length - 1))] ?? Number.NaN
    return {
      '25 a second p50': at(0.5),
      '25 a second p99': at(0.99),
      '25 a second longest': at(1),
      late: paced.late_ms.filter(ms => ms > EVERY_MS).length,
      received: paced.frames / ((READING * PACED_SECONDS * 1000) / EVERY_MS),
      unthrottled: fast.bytes / fast.seconds / MB,
      'unthrottled per CPU': fast.bytes / spent / MB,
      read,
      'rss grown': (highest - before) / MB,
    }
  }
}

/** The median of a copy of as many bytes. */
function copied_us(): number {
  const source = Buffer.alloc(BYTES, 9)
  const taken = Array.from({ length: READ_COUNT }, () => {
    const from = performance.now()
    source.copy(Buffer.allocUnsafeSlow(BYTES))
    return 1000 * (performance.now() - from)
  })
  return median(taken)
}

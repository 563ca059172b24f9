/**
 * Values of 120 bytes to 100 and 1,000 sockets, all of one name. Each server has a process of its own, and the clients share
 * one that only counts frames. Both servers publish the same frames in the same portions and wait for no reply; what is
 * measured is the time from the first publish to the last frame at the last reading client. The server's own processor time
 * stands beside it (`per CPU`), since the clients need more of the machine than the server does.
 *
 * `stalled`: a tenth of the sockets read nothing, and the frames are those of the others. `kept`: values that a reading
 * socket got in a second beside stalled ones, over the same without; what it lacks to 1 is what the others lose.
 */
import { join } from 'node:path'
import { type Bench, type Contestant, compare, type Figures, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'
import type { FanOutBurst, FanOutSpent } from './partners/fan-out-pace.ts'
import type { FrameClients } from './partners/loads/frame-load.ts'

const SIZES = [100, 1_000]
/** Frames a pass. */
const READ_BYTES = 64 * 1024
const FRAMES = 1_000_000
/** Passes of each case in one run, with and without stalled sockets in turn, so that a noisy moment hits both. */
const PASSES = 2
const STALLED_SHARE = 0.1
const VALUE = 'v'.repeat(120)
const FIRST = '{"type":"subscribe","names":["bench.value"]}'
/** The event that carries the value, as ours sends it: what the bare library publishes ready-made. */
const EVENT = `{"type":"message_value","ts":"2026-01-01T00:00:00.000001+00:00","name":"bench.value","version":1000000,"value":"${VALUE}"}`

const bench: Bench = {
  name: 'fan-out',
  shows: 'frames a second to 100 and 1,000 sockets, values of 120 bytes, with and without stalled sockets',
  floor: 'bare uWebSockets.js: one publish of a ready text on one topic',
  rival: 'the same: nothing else in Node fans out as fast',
  async run(): Promise<Row[]> {
    const partner = (file: string): Promise<Partner> => Partner.start(join(import.meta.dirname, 'partners', file))
    const [raw, ours, load] = await Promise.all([
      partner('floors/raw-fan-out.ts'),
      partner('ours/fan-out.ts'),
      partner('loads/frame-load.ts'),
    ])
    const floor = await contestant(raw, load, EVENT)
    const measured = await contestant(ours, load, VALUE)
    await floor()
    await measured()
    const unit = Object.fromEntries(
      SIZES.flatMap(size => [
        [String(size), 'frames/s'],
        [`${size} per CPU`, 'frames/CPU s'],
        [`${size} stalled`, 'frames/s'],
        [`${size} kept`, 'share'],
      ]),
    )
    const rows = await compare({ unit, runs: RUNS, floor, ours: measured })
    await Promise.all([raw.stop(), ours.stop(), load.stop()])
    return rows.map(row => ({ ...row, rival: row.floor, ours_over_rival: row.ours_over_floor }))
  },
}
export default bench

interface Pass {
  frames: number
  seconds: number
  /** What the server took. */
  cpu_seconds: number
}

async function contestant(server: Partner, load: Partner, text: string): Promise<Contestant> {
  const { port } = await server.ask<{ port: number }>('listen')
  const pass = async (reading: number, stalled: number): Promise<Pass> => {
    const protocol = 'svc.v1, bearer.bench'
    await load.ask('open', {
      port,
      path: '/ws/flows',
      protocol,
      reading,
      stalled,
      first: FIRST,
      read_bytes: READ_BYTES,
    } satisfies FrameClients)
    const values = Math.floor(FRAMES / reading)
    const counted = load.ask<{ frames: number; last_us: number }>('count', { frames: values * reading })
    const burst: FanOutBurst = { values, reading, text }
    const { first_us, cpu_us } = await server.ask<FanOutSpent>('publish', burst)
    const { frames, last_us } = await counted
    await load.ask('close')
    return { frames, seconds: (last_us - first_us) / 1e6, cpu_seconds: cpu_us / 1e6 }
  }
  return async () => {
    const figures: Figures = {}
    for (const size of SIZES) {
      const stalled = Math.round(size * STALLED_SHARE)
      const all: Pass[] = []
      const beside: Pass[] = []
      for (let left = PASSES; left > 0; left--) {
        all.push(await pass(size, 0))
        beside.push(await pass(size - stalled, stalled))
      }
      const rate = (passes: Pass[], by: 'seconds' | 'cpu_seconds'): number => sum(passes, 'frames') / sum(passes, by)
      figures[String(size)] = rate(all, 'seconds')
      figures[`${size} per CPU`] = rate(all, 'cpu_seconds')
      figures[`${size} stalled`] = rate(beside, 'seconds')
      figures[`${size} kept`] = rate(beside, 'seconds') / (size - stalled) / (rate(all, 'seconds') / size)
    }
    return figures
  }
}

const sum = (passes: readonly Pass[], what: keyof Pass): number => passes.reduce((total, pass) => total + pass[what], 0)

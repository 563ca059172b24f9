/**
 * What it costs to send a body of nothing to a call slot and have it back, one after the other: the middle of many.
 *
 * `slot`: a call of a batch run through the engine's own call desk, beside a bare piscina task with the same options.
 * `books`: claim and release of one core, uncontended, beside two compare-and-sets on one word.
 */
import { join } from 'node:path'
import { type Bench, type Contestant, compare, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'

const CALLS = 4_000
const CLAIMS = 200_000

const bench: Bench = {
  name: 'calls',
  shows: 'a body of nothing in a call slot and back, and a claim in the resource books',
  floor: 'a bare piscina task; for the books two compare-and-sets',
  rival: 'none',
  async run(): Promise<Row[]> {
    const partner = await Partner.start(join(import.meta.dirname, 'partners', 'ours/calls.ts'))
    await partner.ask('open')
    const p50 =
      (ask: string, name: string, times: number): Contestant =>
      async () => ({ [name]: (await partner.ask<{ p50_us: number }>(ask, { times })).p50_us })
    const slots = { floor: p50('bareTask', 'slot', CALLS), ours: p50('call', 'slot', CALLS) }
    const books = { floor: p50('compareAndSet', 'books', CLAIMS), ours: p50('claim', 'books', CLAIMS) }
    for (const contestant of [...Object.values(slots), ...Object.values(books)]) await contestant()
    const rows = [
      ...(await compare({ unit: 'us', runs: RUNS, ...slots })),
      ...(await compare({ unit: 'us', runs: RUNS, ...books })),
    ]
    await partner.ask('close')
    return rows
  },
}
export default bench

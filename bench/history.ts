/**
 * Points a second made durable: handed over, written and synced.
 *
 * Each contestant has a process of its own and runs alone, in turn. Floor and rival are one thread; ours is a thread that writes the
 * journal and the store thread that drains it, compresses and commits: two cores.
 */
import { join } from 'node:path'
import { type Bench, type Contestant, compare, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'

const FLOOR_POINTS = 2_000_000
const RIVAL_POINTS = 200_000

const bench: Bench = {
  name: 'history',
  shows: 'points a second made durable, floats of 100 messages',
  floor: 'raw columns appended to a file, synced every 50 ms',
  rival: 'plain row inserts through better-sqlite3, synced transactions of 1,000 rows',
  async run(): Promise<Row[]> {
    const partner = await Partner.start(join(import.meta.dirname, 'partners', 'durable-points.ts'))
    const contestants = {
      floor: rateOf(partner, 'append', FLOOR_POINTS),
      rival: rateOf(partner, 'insert', RIVAL_POINTS),
    }
    for (const contestant of Object.values(contestants)) await contestant()
    return compare({ unit: 'points/s', runs: RUNS, ...contestants })
  },
}
export default bench

const rateOf =
  (partner: Partner, ask: string, points: number): Contestant =>
  async () => {
    const { seconds } = await partner.ask<{ seconds: number }>(ask, { points })
    return { float: points / seconds }
  }

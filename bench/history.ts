/**
 * Points a second made durable: handed over, written and synced.
 *
 * Contestants run alone, in turn. Floor and rival are one thread; ours is a thread that writes the
 * journal and the store thread that drains it, compresses and commits: two cores.
 */
import { join } from 'node:path'
import { type Bench, type Contestant, compare, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'

const FLOOR_POINTS = 2_000_000
const OUR_POINTS = 2_000_000
const RIVAL_POINTS = 200_000
const partnerFile = (name: string): string => join(import.meta.dirname, 'partners', `${name}.ts`)

const bench: Bench = {
  name: 'history',
  shows: 'points a second made durable, the readings of a real sensor as 100 messages',
  floor: 'raw columns appended to a file, synced every 50 ms',
  rival: 'plain row inserts through better-sqlite3, synced transactions of 1,000 rows',
  async run(): Promise<Row[]> {
    const bare = await Partner.start(partnerFile('floors/durable-points'))
    const engine = await Partner.start(partnerFile('ours/journal-points'))
    const contestants = {
      floor: rateOf(bare, 'append', FLOOR_POINTS),
      ours: rateOf(engine, 'pass', OUR_POINTS),
      rival: rateOf(bare, 'insert', RIVAL_POINTS),
    }
    for (const contestant of Object.values(contestants)) await contestant()
    return compare({ unit: 'points/s', runs: RUNS, ...contestants })
  },
}
export default bench

const rateOf =
  (partner: Partner, ask: string, points: number): Contestant =>
  async () => {
    const { seconds, dropped } = await partner.ask<{ seconds: number; dropped?: number }>(ask, { points })
    if (dropped) throw new RangeError(`${dropped} points were dropped: the disk is full`)
    return { float: points / seconds }
  }

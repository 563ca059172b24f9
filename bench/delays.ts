/**
 * What a delayed value costs while 100,000 others wait. Each contestant has a process of its own, for each run a new one. Ours is a lane's part:
 * the list, the counts and the record of the journal; the commit of the store is not in it.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { type Bench, type Contestant, compare, type Row, RUNS } from './kit.ts'

const file = join(import.meta.dirname, 'partners', 'ours/delays.ts')
const NEW = 'a new value, 100,000 wait'
const MEMORY = 'memory of each that waits'

const contestant =
  (name: string): Contestant =>
  async () => {
    const printed = execFileSync(process.execPath, ['--expose-gc', file, name], { encoding: 'utf8' })
    const { us, bytes } = JSON.parse(printed) as { us: number; bytes: number }
    return { [NEW]: us, [MEMORY]: bytes }
  }

const bench: Bench = {
  name: 'delays',
  shows: 'what a delayed value costs while 100,000 others wait: time, and resident memory of each (less is better)',
  floor: 'an object pushed on an array, in one thread, nothing kept',
  rival: 'a timer of Node for each value, nothing kept',
  run(): Promise<Row[]> {
    const unit = { [NEW]: 'us', [MEMORY]: 'bytes' }
    return compare({
      unit,
      runs: RUNS,
      floor: contestant('floor'),
      ours: contestant('ours'),
      rival: contestant('rival'),
    })
  },
}
export default bench

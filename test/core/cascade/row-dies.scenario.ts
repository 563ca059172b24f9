import assert from 'node:assert/strict'
import { GROUP } from '../../../core/cascade/queue/item.ts'
import { JOURNAL, JournalReader, VALUE_FLAG } from '../../../core/memory/journal/journal.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { SLOT } from '../../../core/memory/threads.ts'
import { scenario } from '../../kit/scenario.ts'
import { assertSound, recoverAfterDeath, takeCascades } from './kit/recovered.ts'
import { float, route, Station, text, told } from './kit/station.ts'

const ROUTES = [route(3, 5), route(4, 5), route(6, 5)]
const VALUES = [float(1.5), text(2, 40), float(3.5)]
/** Values that the row displaces lie in slabs. */
const LONG = [text(7, 2000), text(8, 2000)]

export default scenario({
  sizes: { flows: 8, messages: 16, ring_bytes: 1 << 17, queue_segments: 6, arena_bytes: 1 << 18 },
  prepare(memory) {
    const connectors = new Station(memory, SLOT.connectors)
    for (const value of LONG) connectors.publisher.publish(route(4, 5), value, 100)
    connectors.endUnit()
  },
  threads: [
    memory => {
      const connectors = new Station(memory, SLOT.connectors)
      return () => {
        connectors.publisher.publishTogether(ROUTES, [5], VALUES, 200, [], false)
        connectors.endUnit()
      }
    },
    () => () => {},
  ],
  check() {},
})

export function afterDeath(memory: Memory): void {
  const front = recoverAfterDeath(memory, SLOT.connectors)
  assertSound(memory)
  const before = [0, LONG.length, 0]
  const stood = ROUTES.filter(({ message }, at) => front.messages.version(message) > before[at]!)
  assert.deepEqual(stood, ROUTES.slice(0, stood.length), 'what stands is the beginning of the row')
  const lines = stood.map(({ message }, at) => `${message}@${before[at]! + 1}=${told(VALUES[at]!)}`)
  const lane = new Station(memory, 9)
  const cascades = takeCascades(lane, 5).slice(LONG.length)
  assert.deepEqual(cascades, lines.length > 0 ? [lines] : [], 'and it runs as one cascade')
  assert.deepEqual(recorded(memory), stood.map(groupInRow), 'a restart would run it as one cascade, too')
  assertSound(memory)
}

/** The groups that the records of the row name. */
function recorded(memory: Memory): number[] {
  const groups: number[] = []
  const reader = new JournalReader(memory, SLOT.connectors, 'store')
  const visit = ({ kind, flags, group, ts }: Parameters<Parameters<typeof reader.drain>[0]['visit']>[0]): void => {
    if (kind === JOURNAL.value && (flags & VALUE_FLAG.queued) !== 0 && ts === 200) groups.push(group)
  }
  while (reader.drain({ visit }, 1 << 20) > 0);
  return groups
}

const groupInRow = (_: unknown, at: number): number =>
  (at > 0 ? GROUP.joins : 0) | (at < ROUTES.length - 1 ? GROUP.goes_on : 0)

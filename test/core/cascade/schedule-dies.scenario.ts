import assert from 'node:assert/strict'
import { auditMemory } from '../../../core/cascade/audit.ts'
import type { Schedule } from '../../../core/cascade/schedule/schedule.ts'
import type { Timing } from '../../../core/flow/timing.ts'
import { JOURNAL, JournalReader, type JournalVisitor } from '../../../core/memory/journal/journal.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { ScheduledTable } from '../../../core/memory/scheduled.ts'
import { limits } from '../../../protocol/limits.ts'
import { scenario } from '../../kit/scenario.ts'
import { recoverAfterDeath } from './kit/recovered.ts'
import { releaseAll, schedulingLane } from './kit/scheduling.ts'
import { route, Station, text, told } from './kit/station.ts'

const FRONT = 1
const LANE = 8
const FLOW = 5
const DELAYED = route(3, FLOW)
const TRIGGERED = route(4, FLOW)
const LONG = limits.JOURNAL_INLINE_BYTES + 100
/** Short ones, and ones with a slab of their own. */
const VALUES = [text(1, 40), text(2, LONG), text(3, 300), text(4, LONG)]
const delay: Timing = { kind: 'delay', wait_s: 1, passthrough: false, wait_port: null }
const trigger: Timing = { kind: 'debounce', wait_s: 1, passthrough: false, wait_port: null }

/** Its value cancels what is scheduled. */
const at_once: Timing = { ...trigger, wait_s: 0 }

const sizes = { flows: 8, messages: 16, ring_bytes: 1 << 17, queue_segments: 8, arena_bytes: 1 << 19 }

function prepare(memory: Memory): void {
  const front = new Station(memory, FRONT)
  new Station(memory, LANE)
  for (const { message, flow } of [DELAYED, TRIGGERED]) front.messages.reset(message, flow)
}

/** A lane schedules values of a delay, and replaces that of a trigger with each, and cancels the last one; it is ended on the way. */
export default scenario({
  sizes,
  prepare,
  threads: [
    memory => {
      const lane = new Station(memory, LANE)
      const schedule: Schedule = schedulingLane(lane)
      return () => {
        for (const [at, value] of VALUES.entries()) {
          schedule.passes(FLOW, DELAYED.message, delay, {}, value, at)
          schedule.passes(FLOW, TRIGGERED.message, trigger, {}, value, at)
        }
        schedule.passes(FLOW, TRIGGERED.message, at_once, {}, VALUES[0]!, VALUES.length)
        lane.endUnit()
      }
    },
    () => () => {},
  ],
  check() {},
})

/** A lane that dies between the reference of a record and the record loses that slab, here as with any record of a long value. */
function assertSoundButForOne(memory: Memory): void {
  const problems = auditMemory(memory).problems.filter(
    problem => !/: (2 references, named in 1|1 references, named in 0) places/.test(problem),
  )
  const lost = auditMemory(memory).problems.length - problems.length
  assert.deepEqual([problems, lost <= 1], [[], true])
}

/** Numbers of the values that the store has as scheduled, by message, once it has read what the lane wrote; and what it read as cancelled. */
function stored(memory: Memory, messages: readonly number[]): { numbers: number[][]; cancelled: Set<number> } {
  const cancelled = new Set<number>()
  const numbers = new Map(messages.map(message => [message, new Set<number>()]))
  const visitor: JournalVisitor = {
    visit({ kind, subject, entry, first }) {
      if (kind !== JOURNAL.scheduled && kind !== JOURNAL.released) return
      const here = numbers.get(subject)!
      if (kind === JOURNAL.released) cancelled.add(subject)
      for (const number of here) if (number < first) here.delete(number)
      if (kind === JOURNAL.scheduled) here.add(entry)
    },
  }
  new JournalReader(memory, LANE, 'store').drain(visitor, 1 << 20)
  return { numbers: [...numbers.values()].map(here => [...here]), cancelled }
}

export function afterDeath(memory: Memory): void {
  const front = recoverAfterDeath(memory, LANE)
  assertSoundButForOne(memory)
  const scheduled = new ScheduledTable(memory, front.arena)
  const messages = [DELAYED.message, TRIGGERED.message]
  const numbers = messages.map(message => [...scheduled.entries(message)].map(entry => scheduled.numberOf(entry)))
  assert.equal(front.flows.scheduled(FLOW), numbers.flat().length)
  // A restart of the engine brings back the same values.
  const { numbers: read, cancelled } = stored(memory, messages)
  assert.deepEqual(read, numbers)
  // What was cancelled is not published, however far the lane came after its record.
  if (cancelled.has(TRIGGERED.message)) assert.deepEqual(numbers[1], [])
  const values = VALUES.map(told)
  const delayed = releaseAll(front, DELAYED)
  assert.deepEqual(delayed, values.slice(0, delayed.length))
  const triggered = releaseAll(front, TRIGGERED)
  assert.ok(
    triggered.length <= 1 &&
      // A value that takes the place of another one is there before that one goes; the last one is cancelled.
      (triggered.length === 1 || delayed.length < 2 || delayed.length === values.length) &&
      triggered.every(value => value === values[delayed.length - 1] || value === values[delayed.length - 2]),
  )
  assert.equal(front.flows.scheduled(FLOW), 0)
  assertSoundButForOne(memory)
}

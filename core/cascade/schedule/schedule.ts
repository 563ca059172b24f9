import { limits } from '../../../protocol/limits.ts'
import type { Timing } from '../../flow/timing.ts'
import type { EncodedValue } from '../../memory/encoded.ts'
import type { JournalWriter } from '../../memory/journal/journal.ts'
import type { ScheduledTable } from '../../memory/scheduled.ts'
import type { FlowTable } from '../flows.ts'

export interface ScheduleParts {
  readonly owner: number
  readonly flows: FlowTable
  readonly scheduled: ScheduledTable
  readonly journal: JournalWriter
  /** Told when a message has got its first scheduled value. */
  notice(message: number, due_ms: number): void
  /** The value is neither published nor scheduled. */
  dropped(flow: number, reason: 'arena_full' | 'schedule_full'): void
}

/**
 * By a lane, in its unit: a value of a timed port is scheduled, or published now. Every change is a record of the journal, so it is
 * committed together with the consumption of the value; the timer publishes in a unit of its own, once the lane's is marked.
 */
export class Schedule {
  readonly #parts: ScheduleParts

  constructor(parts: ScheduleParts) {
    this.#parts = parts
  }

  /**
   * True when the value is to be published now as well. The caller has made sure of `SCHEDULED_ROOM_BYTES` in the journal. `inputs`: of
   * the execution; its body has checked a wait among them.
   */
  passes(
    flow: number,
    message: number,
    { kind, passthrough, wait_s: fixed_s, wait_port }: Timing,
    inputs: unknown,
    value: EncodedValue,
    steady_us: number,
  ): boolean {
    const { flows, owner } = this.#parts
    const wait_s = wait_port === null ? fixed_s : (inputs as Record<string, number>)[wait_port]!
    flows.lockPublish(flow, owner)
    const passes = this.#change(flow, message, kind, passthrough, wait_s, value, steady_us)
    flows.unlockPublish(flow, owner)
    return passes
  }

  #change(
    flow: number,
    message: number,
    kind: Timing['kind'],
    passthrough: boolean,
    wait_s: number,
    value: EncodedValue,
    steady_us: number,
  ): boolean {
    const due_ms = steady_us / 1000 + wait_s * 1000
    if (kind === 'delay') {
      this.#add(flow, message, due_ms, value, steady_us)
      return false
    }
    const running_ms = this.#parts.scheduled.due(message)
    const runs = running_ms !== 0
    if (wait_s === 0) {
      if (runs) this.#cancel(flow, message, steady_us)
      return passthrough
    }
    this.#replace(flow, message, runs && kind === 'hold' ? running_ms : due_ms, value, steady_us)
    return passthrough && !runs
  }

  /** Behind the others: it never overtakes one, also when the wait has become shorter. */
  #add(flow: number, message: number, due_ms: number, value: EncodedValue, steady_us: number): void {
    const { scheduled, journal, notice } = this.#parts
    const entry = this.#prepare(flow, value)
    if (entry === 0) return
    const last_ms = scheduled.lastDue(message)
    const at_ms = due_ms < last_ms ? last_ms : due_ms
    const number = scheduled.next(message)
    const first = last_ms === 0 ? number : 0
    // For a lane that dies between the two, recovery writes the record.
    const isFirst = scheduled.append(message, entry, at_ms, journal.unit)
    journal.scheduled(message, at_ms, steady_us, number, first, value, scheduled.valueOf(entry))
    this.#parts.flows.countScheduled(flow, 1, scheduled.bytesOf(entry))
    if (isFirst) notice(message, at_ms)
  }

  /** In place of all others. Without memory for it, those stay. */
  #replace(flow: number, message: number, due_ms: number, value: EncodedValue, steady_us: number): void {
    const { scheduled, journal, notice } = this.#parts
    const entry = this.#prepare(flow, value)
    if (entry === 0) return
    const number = scheduled.next(message)
    const isFirst = scheduled.append(message, entry, due_ms, journal.unit, number, 1)
    journal.scheduled(message, due_ms, steady_us, number, number, value, scheduled.valueOf(entry))
    // After its record: a lane that dies here leaves the new value, and recovery takes out the others.
    const { count, bytes } = scheduled.dropOthers(message)
    this.#parts.flows.countScheduled(flow, 1 - count, scheduled.bytesOf(entry) - bytes)
    scheduled.countReplaced(message, count)
    // The timer looks at a running wait when that ends, and finds the new end.
    if (isFirst) notice(message, due_ms)
  }

  #cancel(flow: number, message: number, steady_us: number): void {
    const { scheduled, journal } = this.#parts
    // For a lane that dies from here on, recovery writes the record, and takes out what is left.
    scheduled.cancel(message)
    journal.released(message, scheduled.next(message), steady_us)
    const { count, bytes } = scheduled.dropOthers(message)
    this.#parts.flows.countScheduled(flow, -count, -bytes)
    scheduled.countReplaced(message, count)
  }

  #prepare(flow: number, value: EncodedValue): number {
    const { flows, scheduled, dropped } = this.#parts
    if (flows.isScheduleFull(flow, limits.FLOW_WAITING_HARD_FACTOR)) {
      dropped(flow, 'schedule_full')
      return 0
    }
    const entry = scheduled.prepare(value)
    if (entry === 0) dropped(flow, 'arena_full')
    return entry
  }
}

/** Upper bound of the bytes of the records of one value. */
export const SCHEDULED_ROOM_BYTES = limits.JOURNAL_INLINE_BYTES + 128

/** Takes out everything that is scheduled of a message. Under the publish word; the caller journals it. */
export function emptySchedule(
  flows: FlowTable,
  scheduled: ScheduledTable,
  flow: number,
  message: number,
): { readonly count: number } {
  let count = 0
  let bytes = 0
  while (scheduled.first(message) !== 0) {
    bytes += scheduled.pop(message)
    count++
  }
  if (count > 0) flows.countScheduled(flow, -count, -bytes)
  return { count }
}

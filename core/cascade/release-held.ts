import { limits } from '../../protocol/limits.ts'
import type { Clock } from '../memory/clock.ts'
import type { EncodedValue } from '../memory/encoded.ts'
import type { HeldTable } from '../memory/held.ts'
import type { JournalWriter } from '../memory/journal/journal.ts'
import type { FlowTable } from './flows.ts'
import type { Publisher } from './publish/publish.ts'
import type { Route } from './publish/route.ts'

/** Upper bound of the bytes of a record of a held value. */
const ROOM_BYTES = limits.JOURNAL_INLINE_BYTES + 128

export interface HeldHands {
  readonly flows: FlowTable
  readonly held: HeldTable
  readonly journal: JournalWriter
  readonly publisher: Publisher
  readonly owner: number
  readonly clock: Pick<Clock, 'now_us' | 'steady_us'>
}

/** `nothing`: no value is held, or it is not due; `refused`: the value was taken into `value` and is no longer in the table. */
export type Released = 'nothing' | 'published' | 'refused'

/**
 * Publishes what is held of a message and due at `due_ms` (milliseconds of the steady clock; infinity: whenever it is due). It starts
 * a cascade of its own. `ends_unit`: it is one with the record before it, and is marked; a lane marks at the end of its own.
 */
export function releaseHeld(
  hands: HeldHands,
  route: Route,
  value: EncodedValue,
  due_ms: number,
  ends_unit: boolean,
): Released {
  if (!takeHeld(hands, route.flow, route.message, value, due_ms)) return 'nothing'
  return hands.publisher.publish(route, value, hands.clock.now_us(), ends_unit) > 0 ? 'published' : 'refused'
}

/**
 * The same without publishing: false when nothing is held, it is not due, or the lane that held it has not closed that unit:
 * released in one unit and held in another that a crash undoes, it would be published twice.
 */
export function takeHeld(
  { clock, flows, held, journal, owner }: HeldHands,
  flow: number,
  message: number,
  value: EncodedValue,
  due_ms: number,
): boolean {
  if (held.due(message) === 0 || !journal.hasRoom(ROOM_BYTES)) return false
  if (!flows.lockPublish(flow, owner, limits.PUBLISH_PATIENCE_MS)) return false
  const steady_us = clock.steady_us()
  const taken = journal.isClosed(held.unit(message)) && held.take(message, value, due_ms)
  if (taken) held.setPassed(message, steady_us)
  flows.unlockPublish(flow, owner)
  if (taken) journal.held(message, 0, steady_us, value)
  return taken
}

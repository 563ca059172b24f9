import { limits } from '../../../protocol/limits.ts'
import type { Clock } from '../../memory/clock.ts'
import type { EncodedValue } from '../../memory/encoded.ts'
import type { JournalWriter } from '../../memory/journal/journal.ts'
import type { ScheduledTable } from '../../memory/scheduled.ts'
import type { FlowTable } from '../flows.ts'
import type { Publisher } from '../publish/publish.ts'
import type { Route } from '../publish/route.ts'
import { emptySchedule } from './schedule.ts'

/** Generously, of the records of one publish besides those of the flows that read the message, which `publish` asks for. */
const ROOM_BYTES = limits.JOURNAL_INLINE_BYTES + 256

export interface ScheduleHands {
  readonly flows: FlowTable
  readonly scheduled: ScheduledTable
  readonly journal: JournalWriter
  readonly publisher: Publisher
  readonly owner: number
  readonly clock: Pick<Clock, 'now_us' | 'steady_us'>
}

/** `nothing`: none is due; `published`; `later`: the lane's unit is open, or somebody holds the flow; `refused`: the flow takes nothing. It stays the first in the last two cases. */
export type ScheduledRelease = 'nothing' | 'published' | 'later' | 'refused'

/**
 * By the timer: publishes the first scheduled value of a message if it is due. It starts a cascade of its own. The publish and the
 * record that the value is scheduled no more are in one unit, which the caller ends (`endRelease`).
 */
export function releaseScheduled(
  hands: ScheduleHands,
  route: Route,
  value: EncodedValue,
  now_ms: number,
): ScheduledRelease {
  const { flows, scheduled, journal, publisher, owner, clock } = hands
  const { flow, message } = route
  const due_ms = scheduled.due(message)
  if (due_ms === 0 || due_ms > now_ms) return 'nothing'
  if (!journal.hasRoom(ROOM_BYTES) || !flows.lockPublish(flow, owner, limits.PUBLISH_PATIENCE_MS)) return 'later'
  const isDue = scheduled.due(message) !== 0 && scheduled.due(message) <= now_ms
  const isOpen = isDue && !journal.isClosed(scheduled.unit(message))
  const number = isDue && !isOpen ? scheduled.peek(message, value) : 0
  // Before `begin`: recovery takes a version in the intent of a timer that was releasing for the version of this publish.
  publisher.forgetVersion()
  const begins = number !== 0 && scheduled.begin(message, number)
  flows.unlockPublish(flow, owner)
  if (number === 0) return isOpen ? 'later' : 'nothing'

  // Without `begins` a timer that died has published it.
  const version = begins ? publisher.publish(route, value, clock.now_us(), false, true) : 1
  if (version > 0) journal.released(message, number + 1, clock.steady_us())
  flows.lockPublish(flow, owner)
  // A lane may have replaced it meanwhile.
  if (version > 0 && scheduled.first(message) === number) flows.countScheduled(flow, -1, -scheduled.pop(message))
  scheduled.ended(message)
  flows.unlockPublish(flow, owner)
  return version > 0 ? 'published' : 'refused'
}

/** Ends the unit of what was released: from here on others take it. */
export function endRelease({ journal, publisher }: Pick<ScheduleHands, 'journal' | 'publisher'>): void {
  journal.mark()
  publisher.tell()
}

/**
 * Takes out everything that is scheduled of a message and publishes none of it: its node is gone. Answers how many; the
 * caller marks. 0 also when somebody holds the flow.
 */
export function dropScheduled(
  { flows, scheduled, journal, owner, clock }: Omit<ScheduleHands, 'publisher'>,
  flow: number,
  message: number,
): number {
  if (scheduled.due(message) === 0 || !journal.hasRoom(ROOM_BYTES)) return 0
  if (!flows.lockPublish(flow, owner, limits.PUBLISH_PATIENCE_MS)) return 0
  const { count } = emptySchedule(flows, scheduled, flow, message)
  if (count > 0) journal.released(message, scheduled.next(message), clock.steady_us())
  flows.unlockPublish(flow, owner)
  return count
}

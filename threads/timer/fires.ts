import { limits } from '../../protocol/limits.ts'
import type { FireRun } from '../../protocol/nouns/fire.ts'

export type SkipReason = Exclude<FireRun['reason'], 'catch_up' | null>

/** Occurrences that were missed. */
export interface Missed {
  readonly first_us: number
  readonly last_us: number
  readonly count: number
  /** There are more, which were not counted. */
  readonly at_least: boolean
}

/**
 * What became of every scheduled occurrence of the inject nodes: fired, late, or skipped. Occurrences that go the same way are one
 * run while each comes within `limits.FIRES_RUN_GAP_MS` of the one before, for at most `limits.FIRES_RUN_MS`, so an interval of a
 * millisecond makes one row an hour. Pure: times are arguments, in microseconds since 1970.
 */
export class FireLedger {
  /** By node, status and reason. */
  readonly #open = new Map<string, FireRun>()
  readonly #changed = new Set<FireRun>()
  #opened = 0

  published(node: string, scheduled_us: number, fired_us: number): void {
    const late_us = Math.max(0, fired_us - scheduled_us)
    const status = late_us >= limits.FIRE_LATE_MS * 1000 ? 'late' : 'fired'
    this.#count(
      node,
      status,
      null,
      { first_us: scheduled_us, last_us: scheduled_us, count: 1, at_least: false },
      fired_us,
    )
  }

  /** One value for `missed` occurrences, of which the last one is the one that it stands for. */
  caughtUp(node: string, scheduled_us: number, fired_us: number): void {
    const missed = { first_us: scheduled_us, last_us: scheduled_us, count: 1, at_least: false }
    this.#count(node, 'late', 'catch_up', missed, fired_us)
  }

  skipped(node: string, reason: SkipReason, missed: Missed): void {
    if (missed.count > 0) this.#count(node, 'skipped', reason, missed, null)
  }

  /** The runs that changed since the last call. */
  take(): FireRun[] {
    const changed = [...this.#changed]
    this.#changed.clear()
    return changed
  }

  /** The node is gone, or begins again. */
  forget(node: string): void {
    for (const [key, run] of this.#open) if (run.node === node) this.#open.delete(key)
  }

  #count(
    node: string,
    status: FireRun['status'],
    reason: FireRun['reason'],
    { first_us, last_us, count, at_least }: Missed,
    fired_us: number | null,
  ): void {
    const key = `${node} ${status} ${reason}`
    const late_s = fired_us === null ? 0 : Math.max(0, (fired_us - first_us) / 1e6)
    const open = this.#open.get(key)
    if (open !== undefined && continues(open, first_us, last_us)) {
      open.last_scheduled_us = last_us
      open.last_fired_us = fired_us
      open.count += count
      open.at_least ||= at_least
      if (late_s > open.late_s) open.late_s = late_s
      this.#changed.add(open)
      return
    }
    this.#opened = Math.max(this.#opened + 1, fired_us ?? last_us)
    const times = { scheduled_us: first_us, last_scheduled_us: last_us, fired_us, last_fired_us: fired_us }
    const run: FireRun = { node, opened: this.#opened, status, reason, ...times, late_s, count, at_least }
    this.#open.set(key, run)
    this.#changed.add(run)
  }
}

/** A clock that was set back begins another run. */
function continues(run: FireRun, first_us: number, last_us: number): boolean {
  const gap_us = first_us - run.last_scheduled_us
  return (
    gap_us >= 0 && gap_us <= limits.FIRES_RUN_GAP_MS * 1000 && last_us - run.scheduled_us <= limits.FIRES_RUN_MS * 1000
  )
}

/** The occurrences of an interval after `since_us`, up to `until_us`. It begins at `since_us`. */
export function missedOfInterval(every_s: number, since_us: number, until_us: number): Missed {
  const count = Math.max(0, Math.floor((until_us - since_us) / (every_s * 1e6)))
  return { first_us: since_us + every_s * 1e6, last_us: since_us + count * every_s * 1e6, count, at_least: false }
}

/** Those of a cron expression; `next` answers the next one after a time, in milliseconds. Of many, the first ones are counted. */
export function missedOfCron(next: (after_ms: number) => number | null, since_us: number, until_us: number): Missed {
  let count = 0
  let first_us = 0
  let last_us = 0
  for (let at = next(since_us / 1000); at !== null && at * 1000 <= until_us; at = next(at)) {
    if (count === limits.FIRES_MISSED_COUNTED) return { first_us, last_us, count, at_least: true }
    if (count++ === 0) first_us = at * 1000
    last_us = at * 1000
  }
  return { first_us, last_us, count, at_least: false }
}

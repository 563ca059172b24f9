import type { RecordView } from '../../../core/memory/journal/view.ts'
import type { Connection, Statement } from '../file/database.ts'
import type { StoredScheduled } from '../front/replies.ts'
import { hasPayload } from '../history/series.ts'

interface Entry {
  readonly due_ms: number
  readonly ts: number
  readonly kind: number
  readonly number: number
  readonly bytes: Buffer | null
}

/** Of one message. */
interface Schedule {
  /** Entries before this number are published or cancelled. */
  first: number
  /** Rows before this number are deleted. */
  deleted: number
  /** The highest number of a row that was written. Before the first write there may be rows that a start found. */
  written: number
  /** Scheduled since the last commit. */
  readonly fresh: Map<number, Entry>
}

/**
 * Changes of scheduled values from the journals since the last commit. A value that is scheduled and published between two commits
 * needs no row. Lanes schedule and the timer publishes, each with its own ring, so a release may be read first. That is safe, since the number
 * up to which entries are gone only goes up.
 */
export class ScheduledChanges {
  readonly #by_message = new Map<number, Schedule>()
  readonly #changed = new Set<Schedule>()
  readonly #messages = new Map<Schedule, number>()

  get isEmpty(): boolean {
    return this.#changed.size === 0
  }

  scheduled(record: RecordView): void {
    const { subject, entry, first, due_ms, ts, value_kind: kind, number } = record
    const schedule = this.#of(subject)
    this.#release(schedule, first)
    if (entry < schedule.first) return
    const bytes = hasPayload(kind)
      ? Buffer.from(record.bytes.subarray(record.start, record.start + record.length))
      : null
    schedule.fresh.set(entry, { due_ms, ts: Math.floor(ts), kind, number, bytes })
    this.#changed.add(schedule)
  }

  released({ subject, first }: RecordView): void {
    this.#release(this.#of(subject), first)
  }

  #of(message: number): Schedule {
    let schedule = this.#by_message.get(message)
    if (schedule === undefined) {
      schedule = { first: 0, deleted: 0, written: Number.POSITIVE_INFINITY, fresh: new Map() }
      this.#by_message.set(message, schedule)
      this.#messages.set(schedule, message)
    }
    return schedule
  }

  #release(schedule: Schedule, first: number): void {
    if (first <= schedule.first) return
    schedule.first = first
    // In the order of their numbers, except for entries that a dead lane had written twice.
    for (const number of schedule.fresh.keys()) {
      if (number >= first) break
      schedule.fresh.delete(number)
    }
    this.#changed.add(schedule)
  }

  /** Inside the caller's transaction. */
  write(statements: ScheduledStatements, row: (message: number) => number): void {
    for (const schedule of this.#changed) {
      const { first, deleted, written, fresh } = schedule
      const message = row(this.#messages.get(schedule)!)
      // Entries before `deleted` have no row any more.
      if (first > deleted && written >= deleted) statements.drop(message, first)
      for (const [number, entry] of fresh) if (number >= first) statements.put(message, number, entry)
    }
  }

  /** Called when the changes are committed. */
  written(): void {
    for (const schedule of this.#changed) {
      for (const number of schedule.fresh.keys())
        if (number > schedule.written || schedule.written === Number.POSITIVE_INFINITY) schedule.written = number
      schedule.deleted = schedule.first
      schedule.fresh.clear()
    }
    this.#changed.clear()
  }
}

export class ScheduledStatements {
  readonly #put: Statement
  readonly #drop: Statement

  constructor(db: Connection) {
    this.#put = db.prepare(
      `INSERT INTO scheduled (message, entry, due_ms, ts, kind, number, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (message, entry) DO UPDATE SET due_ms = excluded.due_ms, ts = excluded.ts, kind = excluded.kind,
       number = excluded.number, bytes = excluded.bytes`,
    )
    this.#drop = db.prepare('DELETE FROM scheduled WHERE message = ? AND entry < ?')
  }

  put(message: number, entry: number, { due_ms, ts, kind, number, bytes }: Entry): void {
    this.#put.run(message, entry, due_ms, ts, kind, number, bytes)
  }

  drop(message: number, first: number): void {
    this.#drop.run(message, first)
  }
}

export function readScheduled(db: Connection): StoredScheduled[] {
  const rows = db
    .prepare(
      `SELECT name, entry, due_ms, ts, kind, number, scheduled.bytes FROM scheduled JOIN messages ON id = message
       ORDER BY message, entry`,
    )
    .all() as (Omit<StoredScheduled, 'bytes'> & { bytes: Buffer | null })[]
  return rows.map(row => ({ ...row, bytes: row.bytes ?? new Uint8Array(0) }))
}

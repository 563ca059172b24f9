import type { Connection, Statement } from '../file/database.ts'
import { type DiskUse, ROW_BYTES } from '../file/disk-use.ts'

const MESSAGES_PER_STEP = 200
const MINUTES_PER_HOUR = 60
const MINUTE_US = 60_000_000

interface Dropped {
  count: number
  bytes: number | null
}

/**
 * Keeps rollups within their share of the history budget: removes the oldest eighth of the minutes, message by message, and
 * hours that are older than sixty times the age of the oldest minute. It runs in steps; each is part of the caller's transaction.
 */
export class RollupSweep {
  readonly #disk: DiskUse
  readonly #clock: () => number
  readonly #budget: number
  readonly #messages: Statement<{ id: number }>
  readonly #oldest: Statement<{ start: number | null }>
  readonly #weigh: Statement<Dropped>
  readonly #drop: Statement
  /** The message that the sweep has reached; null when none is under way. */
  #cursor: number | null = null
  #minutes_from = 0
  #hours_from = 0

  constructor(db: Connection, disk: DiskUse, clock: () => number, budget: number) {
    this.#disk = disk
    this.#clock = clock
    this.#budget = budget
    this.#messages = db.prepare('SELECT id FROM messages WHERE id > ? ORDER BY id LIMIT ?')
    // One index search per message, since the table may be a gigabyte.
    this.#oldest = db.prepare(
      'SELECT min((SELECT start FROM rollups WHERE message = id AND bucket_s = 60 ORDER BY start LIMIT 1)) AS start FROM messages',
    )
    const old = 'FROM rollups WHERE message = ? AND bucket_s = ? AND start < ?'
    this.#weigh = db.prepare(`SELECT count(*) AS count, sum(length(bytes)) AS bytes ${old}`)
    this.#drop = db.prepare(`DELETE ${old}`)
  }

  isDue(): boolean {
    return this.#cursor !== null || this.#disk.bytes('rollups') > this.#budget
  }

  step(): void {
    if (this.#cursor === null) this.#begin()
    const page = this.#messages.all(this.#cursor, MESSAGES_PER_STEP)
    for (const { id } of page) {
      this.#dropOld(id, 60, this.#minutes_from)
      this.#dropOld(id, 3600, this.#hours_from)
    }
    this.#cursor = page.length < MESSAGES_PER_STEP ? null : page.at(-1)!.id
  }

  #begin(): void {
    const now = this.#clock()
    const oldest = this.#oldest.get()!.start ?? now - MINUTE_US
    this.#minutes_from = oldest + Math.max(MINUTE_US, (now - oldest) / 8)
    this.#hours_from = now - MINUTES_PER_HOUR * (now - this.#minutes_from)
    this.#cursor = 0
  }

  #dropOld(message: number, bucket_s: number, from: number): void {
    const { count, bytes } = this.#weigh.get(message, bucket_s, from)!
    if (count === 0) return
    this.#drop.run(message, bucket_s, from)
    this.#disk.add('rollups', -count * ROW_BYTES - (bytes ?? 0))
  }
}

import type { Connection, Statement } from '../file/database.ts'
import type { DiskUse } from '../file/disk-use.ts'
import type { WatchedFiles } from '../file/watched-files.ts'
import type { ControlRequest } from '../front/requests.ts'
import type { RunCounts } from '../runs/counts.ts'
import type { ControlWrites } from './control-writes.ts'
import type { RedoLog } from './redo-log.ts'

interface Parts {
  db: Connection
  controls: ControlWrites
  redo: RedoLog
  /** Both write their counters at the end of a transaction. */
  disk: DiskUse
  counts: RunCounts
  /** Checked before writes are answered: data in removed files would be lost. */
  files: WatchedFiles
}

/** The setting with the newest committed record of the redo log. */
export const REDO_MARK = 'redo_mark'

/**
 * The one transaction of the store thread:
 *
 *   closed --open--> open --keep, as often as there is room in the redo log--> open --commit--> closed
 *                                                                                   --undo--> closed
 *
 * Kept writes are answered. So when their transaction is undone, they are applied again at the beginning of the next one.
 */
export class StoreTransaction {
  readonly #parts: Parts
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #rollback: Statement
  readonly #mark: Statement
  #kept: ControlRequest[] = []
  #marked: string
  /** Counters in memory include a transaction that was undone. */
  #stale = false
  /** By `performance.now()`. */
  #opened_ms = 0

  constructor(parts: Parts) {
    this.#parts = parts
    const { db, redo } = parts
    this.#marked = redo.mark
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollback = db.prepare('ROLLBACK')
    this.#mark = db.prepare(
      `INSERT INTO settings (name, value) VALUES ('${REDO_MARK}', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    )
  }

  /** Whether it holds answered writes that are not committed. */
  get isOpen(): boolean {
    return this.#parts.db.inTransaction
  }

  /** Whether all answered writes are committed. */
  get isWhole(): boolean {
    return this.#kept.length === 0
  }

  get opened_ms(): number {
    return this.#opened_ms
  }

  open(): void {
    if (this.isOpen) return
    if (this.#stale) this.#reload()
    this.#opened_ms = performance.now()
    this.#begin.run()
    for (const request of this.#kept) this.#parts.controls.apply(request, [])
  }

  /** True when the writes may be answered now; false when they need a commit. */
  keep(written: readonly { request: ControlRequest; text: string }[]): boolean {
    if (!this.#parts.redo.append(written.map(({ text }) => text))) return false
    this.#parts.files.assertThere()
    for (const { request } of written) this.#kept.push(request)
    return true
  }

  /** Returns when it is on disk. */
  commit(): void {
    const { counts, disk, files, redo } = this.#parts
    files.assertThere()
    disk.write()
    counts.write()
    const { mark } = redo
    if (mark !== this.#marked) this.#mark.run(mark)
    this.#commit.run()
    this.#marked = mark
    disk.committed()
    redo.committed()
    this.#kept = []
    files.assertThere()
  }

  undo(): void {
    // A full disk may have ended the transaction already.
    if (this.isOpen) this.#rollback.run()
    this.#stale = true
    try {
      this.#reload()
    } catch {
      // A failed disk cannot be read, either. The next operation reads again and reports the error.
    }
  }

  /** Loads the counters from the file again. */
  #reload(): void {
    this.#parts.disk.reload()
    this.#parts.counts.reload()
    this.#stale = false
  }

  /** Runs `body` and commits it with what is open already. */
  run(body: () => void): void {
    try {
      this.open()
      body()
      this.commit()
    } catch (error) {
      this.undo()
      throw error
    }
  }
}

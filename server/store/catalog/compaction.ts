import type { Connection, Statement } from '../file/database.ts'
import type { Blobs } from './blobs.ts'

/** The longest chain of deltas, so that reading an old document stays cheap. */
const CHAIN = 16
const STEP = 32
const CURSOR = 'compacted_until'

interface CommitRow {
  seq: number
  flow: number
  document: string
}

/**
 * A pass over the flow store after some number of changes: a document that was replaced by a newer one becomes a difference to
 * the newer one. Readers get the same bytes as before. A base is plain when it is chosen, and only plain documents are
 * rewritten, so chains end. A document at the end of a long chain is stored on its own.
 */
export class Compaction {
  readonly #blobs: Blobs
  readonly #every: number
  readonly #newest: Statement<{ seq: number | null }>
  readonly #page: Statement<CommitRow>
  readonly #before: Statement<{ document: string }>
  readonly #inUse: Statement<{ used: number }>
  readonly #putCursor: Statement
  #cursor: number
  #until = 0

  constructor(db: Connection, blobs: Blobs, every: number) {
    this.#blobs = blobs
    this.#every = every
    this.#newest = db.prepare('SELECT max(seq) AS seq FROM commits')
    this.#page = db.prepare(
      'SELECT seq, flow, document FROM commits WHERE seq > ? AND seq <= ? AND document IS NOT NULL ORDER BY seq LIMIT ?',
    )
    this.#before = db.prepare(
      'SELECT document FROM commits WHERE flow = ? AND seq < ? AND document IS NOT NULL ORDER BY seq DESC LIMIT 1',
    )
    this.#inUse = db.prepare('SELECT EXISTS (SELECT 1 FROM flows WHERE document = ?) AS used')
    this.#putCursor = db.prepare('INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)')
    const row = db.prepare('SELECT value FROM settings WHERE name = ?').get(CURSOR) as { value: string } | undefined
    this.#cursor = Number(row?.value ?? 0)
  }

  /** Whether a pass is under way, or there were enough changes for one. */
  isDue(): boolean {
    if (this.#cursor < this.#until) return true
    const newest = this.#newest.get()!.seq ?? 0
    if (newest - this.#cursor < this.#every) return false
    this.#until = newest
    return true
  }

  /** Rewrites some documents. Call it inside a transaction. */
  step(): void {
    const rows = this.#page.all(this.#cursor, this.#until, STEP)
    for (const row of rows) this.#compact(row)
    this.#cursor = rows.length < STEP ? this.#until : rows.at(-1)!.seq
    this.#putCursor.run(CURSOR, String(this.#cursor))
  }

  #compact({ seq, flow, document }: CommitRow): void {
    const before = this.#before.get(flow, seq)
    if (!before || before.document === document) return
    if (!this.#blobs.isPlain(before.document) || this.#inUse.get(before.document)!.used === 1) return
    const alone = this.#blobs.behind(before.document) >= CHAIN || !this.#blobs.isPlain(document)
    this.#blobs.compact(before.document, alone ? null : document)
  }
}

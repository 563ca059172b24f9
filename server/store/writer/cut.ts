import type { JournalReader } from '../../../core/memory/journal/reader.ts'
import type { JournalVisitor } from '../../../core/memory/journal/view.ts'

/** Writers mark about once a millisecond and reading the marks takes less than a microsecond; the wait for a cut is bounded. */
const LOOKS = 1000

/**
 * The rings of the journal, read up to one cut: the marks of all of them at one moment. A flow moves from lane to
 * lane, and the records of its next lane are never read before those of its last lane. A commit of a whole cut
 * leaves no hole in the versions when the engine is killed after it.
 */
export class Cut {
  readonly #readers: readonly JournalReader[]
  /** Up to where each ring is read. */
  readonly #marks: Int32Array

  constructor(readers: readonly JournalReader[]) {
    this.#readers = readers
    this.#marks = Int32Array.from(readers, reader => reader.marked())
  }

  /** Visits all records up to a new cut. Returns their bytes. */
  drain(visitor: JournalVisitor): number {
    this.#take()
    let bytes = 0
    for (const [ring, reader] of this.#readers.entries()) bytes += reader.drainTo(visitor, this.#marks[ring]!)
    return bytes
  }

  /**
   * Copies records that are not marked yet out of rings whose writers need room; writers mark after `limits.UNIT_BYTES`. Call it after
   * `drain`, so that only what no mark covers is copied.
   */
  relieve(): void {
    for (const reader of this.#readers) if (reader.isCramped) reader.stage()
  }

  /** Reads all marks until two successive reads agree. */
  #take(): void {
    const marks = this.#marks
    for (let looks = 0, same = false; !same && looks < LOOKS; looks++) {
      same = true
      for (const [ring, reader] of this.#readers.entries()) {
        const marked = reader.marked()
        if (marked === marks[ring]) continue
        marks[ring] = marked
        same = false
      }
    }
  }
}

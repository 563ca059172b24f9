import type { JournalReader } from '../../../core/memory/journal/reader.ts'
import type { JournalVisitor } from '../../../core/memory/journal/view.ts'

/** Writers mark about once a millisecond and reading the marks takes less than a microsecond; the wait for a cut is bounded. */
const LOOKS = 1000

/**
 * The rings of the journal, read up to one cut: the marks of all of them as they stood at one moment. A flow goes from lane to
 * lane, so what its next lane wrote is never read before what its last lane wrote; a commit that takes a whole cut or none
 * of it leaves no hole in the versions when the engine is killed behind it.
 */
export class Cut {
  readonly #readers: readonly JournalReader[]
  /** Where each ring is read to. */
  readonly #marks: Int32Array

  constructor(readers: readonly JournalReader[]) {
    this.#readers = readers
    this.#marks = Int32Array.from(readers, reader => reader.marked())
  }

  /** Visits everything up to a new cut; answers the bytes. */
  drain(visitor: JournalVisitor): number {
    this.#take()
    let bytes = 0
    for (const [ring, reader] of this.#readers.entries()) bytes += reader.drainTo(visitor, this.#marks[ring]!)
    return bytes
  }

  /**
   * Takes what is not marked yet out of the way of writers that need room; they mark after `limits.UNIT_BYTES`. After
   * `drain`, so that only what no mark covers is copied.
   */
  relieve(): void {
    for (const reader of this.#readers) if (reader.isCramped) reader.stage()
  }

  /** Two successive reads of all marks that agree. */
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

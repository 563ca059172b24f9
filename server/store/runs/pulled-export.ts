import type { RunExport } from './records.ts'

interface Cursor {
  /** The next page, which may be empty; null when there is no other. */
  page(): Promise<Uint8Array | null>
  close(): void
}

/**
 * The front's side of an export: it asks for a page when the one before was taken, so that one is on its way at most.
 *
 *   open --the last page was taken, a pull failed--> ended
 *   open --close, or a `break` out of the loop--> ended, and the reader forgets its side
 */
export class PulledExport implements RunExport, AsyncIterator<Uint8Array, undefined> {
  readonly truncated: boolean
  readonly #cursor: Cursor
  #ready: Uint8Array | null = null
  #ended = false

  constructor(truncated: boolean, cursor: Cursor) {
    this.truncated = truncated
    this.#cursor = cursor
  }

  /** Pulls the first page. What refuses the export refuses it here. */
  async begin(): Promise<void> {
    this.#ready = await this.#pull()
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const page = this.#ready ?? (await this.#pull())
    this.#ready = null
    return page === null ? { done: true, value: undefined } : { done: false, value: page }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.close()
    return { done: true, value: undefined }
  }

  close(): void {
    if (!this.#ended) this.#cursor.close()
    this.#ended = true
    this.#ready = null
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #pull(): Promise<Uint8Array | null> {
    while (!this.#ended) {
      try {
        const page = await this.#cursor.page()
        if (page === null) this.#ended = true
        else if (page.length > 0) return page
      } catch (error) {
        this.#ended = true
        throw error
      }
    }
    return null
  }
}

import type { RunExport } from './runs.ts'

export interface Cursor {
  /** The next page, which may be empty; null after the last one. `spare`: the memory of a page that is no longer needed; it is transferred. */
  page(spare: ArrayBuffer | null): Promise<Uint8Array<ArrayBuffer> | null>
  close(): void
}

/**
 * The front's side of an export. It requests a page when the one before was taken, and passes the memory of
 * that one back: otherwise pages would pile up until the front's garbage is collected.
 *
 *   open --the last page was taken, a pull failed--> ended
 *   open --close, or a `break` out of the loop--> ended, and the reader forgets its side
 */
export class PulledExport implements RunExport, AsyncIterator<Uint8Array, undefined> {
  readonly truncated: boolean
  readonly #cursor: Cursor
  #ready: Uint8Array<ArrayBuffer> | null = null
  #spare: ArrayBuffer | null = null
  #ended = false

  /** `ready`: the first page, when it is there already. */
  constructor(truncated: boolean, cursor: Cursor, ready: Uint8Array<ArrayBuffer> | null = null) {
    this.truncated = truncated
    this.#cursor = cursor
    this.#ready = ready
  }

  /** Pulls the first page. Throws when the export is refused. */
  async begin(): Promise<void> {
    this.#ready = await this.#pull()
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const page = this.#ready ?? (await this.#pull())
    this.#ready = null
    this.#spare = page?.buffer ?? null
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

  async #pull(): Promise<Uint8Array<ArrayBuffer> | null> {
    while (!this.#ended) {
      try {
        const page = await this.#cursor.page(this.#spare)
        this.#spare = null
        if (page === null) this.#ended = true
        else if (page.length > 0) return page
        else this.#spare = page.buffer
      } catch (error) {
        this.#ended = true
        throw error
      }
    }
    return null
  }
}

import type { Lease, Shareable } from './connector.ts'

interface Shared {
  readonly thing: Shareable
  leases: number
}

/** What several nodes use together, such as a connection: opened by the first, closed after the last. */
export class Sharing {
  readonly #shared = new Map<string, Shared>()
  readonly #closing = new Set<Promise<void>>()
  readonly #onDefect: (error: unknown) => void

  constructor(onDefect: (error: unknown) => void) {
    this.#onDefect = onDefect
  }

  share<Thing extends Shareable>(key: string, open: () => Thing): Lease<Thing> {
    let shared = this.#shared.get(key)
    if (shared === undefined) this.#shared.set(key, (shared = { thing: open(), leases: 0 }))
    const held = shared
    held.leases++
    let released = false
    return {
      thing: held.thing as Thing,
      release: () => {
        if (released) return
        released = true
        if (--held.leases > 0) return
        this.#shared.delete(key)
        this.#close(held.thing)
      },
    }
  }

  /** Resolves when everything that was closed has let go. */
  async closed(): Promise<void> {
    await Promise.all(this.#closing)
  }

  #close(thing: Shareable): void {
    const closing: Promise<void> = Promise.resolve()
      .then(() => thing.close())
      .catch(this.#onDefect)
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}

import { EXIT } from '../../protocol/settings.ts'

/** The reason of work that was aborted by Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** Ctrl-C ends the command. During work that cleans up first, only the second Ctrl-C does. */
export class Interrupts {
  #work: AbortController | null = null

  constructor() {
    process.on('SIGINT', () => this.#interrupt())
  }

  /** From now on this signal counts as Ctrl-C. */
  alsoOn(signal: NodeJS.Signals): void {
    process.on(signal, () => this.#interrupt())
  }

  /** Runs work whose signal the first interrupt aborts with an Interrupted; the work decides when it ends. */
  async during<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    this.#work = controller
    try {
      return await work(controller.signal)
    } finally {
      this.#work = null
    }
  }

  #interrupt(): void {
    if (this.#work === null || this.#work.signal.aborted) process.exit(EXIT.interrupted)
    this.#work.abort(new Interrupted())
  }
}

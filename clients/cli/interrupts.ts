import { EXIT } from '../../protocol/settings.ts'

/** Why work was given up: Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** Ctrl-C ends the command, unless something is to be put in order first: then the second one does. */
export class Interrupts {
  #work: AbortController | null = null

  constructor() {
    process.on('SIGINT', () => this.#interrupt())
  }

  /** From now on this signal is as good as Ctrl-C. */
  alsoOn(signal: NodeJS.Signals): void {
    process.on(signal, () => this.#interrupt())
  }

  /** The first interrupt aborts the signal with an Interrupted; the work goes on as it sees fit. */
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

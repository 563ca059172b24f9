import { EXIT } from '../../protocol/settings.ts'

/** Why work was given up: Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
}

/** Ctrl-C ends the command, unless something is to be put in order first: then the second one does. */
export class Interrupts {
  #work: AbortController | null = null

  constructor() {
    process.on('SIGINT', () => {
      if (this.#work === null || this.#work.signal.aborted) process.exit(EXIT.interrupted)
      this.#work.abort(new Interrupted())
    })
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
}

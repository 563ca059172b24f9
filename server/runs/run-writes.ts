import { DISK_FAULTS } from '../../protocol/disk-faults.ts'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'

/** Faults of the disk, which the engine can only wait out. */
const DISK: ReadonlySet<ErrorCode> = new Set(DISK_FAULTS)

export const isDiskRefusal = (error: unknown): boolean => error instanceof ServiceError && DISK.has(error.code)

export interface RunWritesParts {
  onDefect(error: unknown): void
  /** `limits.RUN_WRITE_RETRY_MS` when absent. */
  readonly retry_ms?: number
}

/**
 * Claims and ends of runs. No client repeats these writes, so each is repeated here until the store takes it.
 *
 *   writing --refused--> waiting --after a while--> writing
 *           --taken--> done
 *   waiting --close--> writing once more --refused--> given up
 *
 * A refused write has changed nothing, so it can be repeated. For the disk the retries come at equal intervals. Any other refusal is
 * logged once, and the interval grows.
 */
export class RunWrites {
  readonly #parts: RunWritesParts
  readonly #waiting = new Set<() => void>()
  #closing = false

  constructor(parts: RunWritesParts) {
    this.#parts = parts
  }

  /** `write` is called with the number of refusals that were not the disk's. Null when the write was given up. */
  async untilTaken<Result>(write: (failures: number) => Promise<Result>): Promise<{ result: Result } | null> {
    const { retry_ms = limits.RUN_WRITE_RETRY_MS, onDefect } = this.#parts
    for (let failures = 0; ; ) {
      const isLast = this.#closing
      try {
        return { result: await write(failures) }
      } catch (error) {
        const isDisk = isDiskRefusal(error)
        if (!isDisk && failures++ === 0) onDefect(error)
        if (isLast) return null
        await this.#pause(isDisk ? retry_ms : Math.min(limits.RUN_WRITE_SLOWEST_MS, retry_ms * 2 ** failures))
      }
    }
  }

  /** Tries each waiting write once more, now. */
  close(): void {
    this.#closing = true
    for (const goOn of this.#waiting) goOn()
  }

  #pause(ms: number): Promise<void> {
    if (this.#closing) return Promise.resolve()
    return new Promise(resolve => {
      const goOn = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(goOn)
        resolve()
      }
      const timer = setTimeout(goOn, ms)
      this.#waiting.add(goOn)
    })
  }
}

import { DISK_FAULTS } from '../../protocol/disk-faults.ts'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'

/** What only time, or somebody with a larger disk, can mend. */
const DISK: ReadonlySet<ErrorCode> = new Set(DISK_FAULTS)

export const isDiskRefusal = (error: unknown): boolean => error instanceof ServiceError && DISK.has(error.code)

export interface RunWritesParts {
  onDefect(error: unknown): void
  /** `limits.RUN_WRITE_RETRY_MS` when absent. */
  readonly retry_ms?: number
}

/**
 * Writes of runs that nobody asks for a second time: claims and ends. Each is repeated until the store takes it.
 *
 *   writing --refused--> waiting --after a while--> writing
 *           --taken--> done
 *   waiting --close--> writing once more --refused--> given up
 *
 * A refused write changed nothing, so it can be repeated as it is. The disk is waited for at an even pace; any other refusal is
 * told once and waited for longer each time.
 */
export class RunWrites {
  readonly #parts: RunWritesParts
  readonly #waiting = new Set<() => void>()
  #closing = false

  constructor(parts: RunWritesParts) {
    this.#parts = parts
  }

  /** `write` is told how often it was refused for a reason that is none of the disk. Null when it was given up. */
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

  /** What waits is tried once more, now. */
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

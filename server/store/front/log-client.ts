import type { RunLogPage } from '../../../protocol/nouns/run-log.ts'
import type { ReadRequest } from './requests.ts'
import type { LogRequest, LogStore } from './run-logs.ts'

interface Parts {
  read(request: ReadRequest): Promise<RunLogPage | null>
  /** Resolves when readers see all answered writes; null: they already do. */
  seen(): Promise<unknown> | null
}

/** Logs of runs, as the reader thread has them. */
export class LogClient implements LogStore {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async log(request: LogRequest): Promise<RunLogPage | null> {
    const seen = this.#parts.seen()
    if (seen !== null) await seen
    return this.#parts.read({ type: 'run_log', request })
  }
}

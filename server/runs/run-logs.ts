import { ServiceError } from '../../protocol/errors.ts'
import type { RunLogPage } from '../../protocol/nouns/run-log.ts'
import type { LogRequest, LogStore } from '../store/front/run-logs.ts'

/** Logs of batch runs, for routes and sockets. */
export interface RunLogs {
  /** Throws `run_not_found`. */
  page(request: LogRequest): Promise<RunLogPage>
  /** Calls `listener` for each run whose lines were written, or that has ended. */
  onWritten(listener: (run: string) => void): void
}

export class StoredRunLogs implements RunLogs {
  readonly #store: LogStore
  #listener: (run: string) => void = () => {}

  constructor(store: LogStore) {
    this.#store = store
  }

  async page(request: LogRequest): Promise<RunLogPage> {
    const page = await this.#store.log(request)
    if (page === null) throw new ServiceError('run_not_found', `There is no run ${request.run}.`)
    return page
  }

  onWritten(listener: (run: string) => void): void {
    this.#listener = listener
  }

  written(run: string): void {
    this.#listener(run)
  }
}

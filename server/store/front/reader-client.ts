import { CalledThread } from '../../watch/called-thread.ts'
import { placeOf, type UnreadablePlace } from '../file/unreadable.ts'
import type { ReaderStart, ReadRequest } from './requests.ts'

/** Objects live for one answer or one page. With Node's default, an export takes 25 MiB more and is not faster. */
const YOUNG_MB = 8
/** Most unreadable rows in one read. */
const MOST_ROWS = 100

/** The front's side of the reader thread. */
export class Reader extends CalledThread<ReadRequest> {
  readonly #putAside: (place: UnreadablePlace) => Promise<unknown>

  constructor(start_with: ReaderStart, putAside: (place: UnreadablePlace) => Promise<unknown>) {
    super({
      name: 'reader',
      module: new URL('./reader.ts', import.meta.url),
      worker_data: start_with,
      resource_limits: { maxYoungGenerationSizeMb: YOUNG_MB },
    })
    this.#putAside = putAside
  }

  /** An unreadable row goes to the quarantine, and the read is repeated. */
  override async call<Result>(request: ReadRequest, given: readonly ArrayBuffer[] = []): Promise<Result> {
    for (let rows = 0; ; rows++) {
      try {
        return await super.call<Result>(request, given)
      } catch (error) {
        const place = placeOf(error)
        if (place === null || rows === MOST_ROWS || given.length > 0) throw error
        await this.#putAside(place).catch(() => {
          throw error
        })
      }
    }
  }
}

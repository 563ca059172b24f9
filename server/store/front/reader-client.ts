import { CalledThread } from '../../watch/called-thread.ts'
import type { ReaderStart, ReadRequest } from './requests.ts'

/** What it makes lives for one answer or one page; with the room that is there by default, an export takes 25 MiB more and is no faster. */
const YOUNG_MB = 8

/** The front's side of the reader thread. */
export class Reader extends CalledThread<ReadRequest> {
  constructor(start_with: ReaderStart) {
    super({
      name: 'reader',
      module: new URL('./reader.ts', import.meta.url),
      worker_data: start_with,
      resource_limits: { maxYoungGenerationSizeMb: YOUNG_MB },
    })
  }
}

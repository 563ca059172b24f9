import type { ArtifactPlace } from '../../threads/calls/artifact-files.ts'
import { CalledThread } from '../watch/called-thread.ts'
import type { ArtifactRequest, ArtifactThreadStart } from './messages.ts'

/** The front's side of the artifact thread. At its end what was uploaded only in part is removed. */
export class ArtifactThread extends CalledThread<ArtifactRequest> {
  constructor(place: ArtifactPlace) {
    const worker_data: ArtifactThreadStart = { place }
    super({ name: 'artifacts', module: new URL('./thread.ts', import.meta.url), worker_data })
  }
}

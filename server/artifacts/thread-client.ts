import { Worker } from 'node:worker_threads'
import { ServiceError } from '../../protocol/errors.ts'
import type { ArtifactPlace } from '../../threads/calls/artifact-files.ts'
import { Calls } from '../store/front/calls.ts'
import type { ArtifactRequest, ArtifactThreadStart, FromArtifactThread, ToArtifactThread } from './messages.ts'

/** The front's side of the artifact thread. It starts with the first request, and again with the next one should it die. */
export class ArtifactThread {
  readonly #start_with: ArtifactThreadStart
  readonly #calls = new Calls()
  #worker: Worker | null = null
  #exited: Promise<void> = Promise.resolve()
  #closed = false

  constructor(place: ArtifactPlace) {
    this.#start_with = { place }
  }

  call<Result>(request: ArtifactRequest): Promise<Result> {
    if (this.#closed) return Promise.reject(new ServiceError('store_failed', 'The engine ends.'))
    const worker = (this.#worker ??= this.#start())
    return this.#calls.open(id => worker.postMessage({ type: 'call', id, request } satisfies ToArtifactThread))
  }

  /** What was uploaded only in part is removed. */
  async close(): Promise<void> {
    this.#closed = true
    this.#worker?.postMessage({ type: 'close' } satisfies ToArtifactThread)
    await this.#exited
  }

  #start(): Worker {
    const start = { name: 'artifacts', workerData: this.#start_with }
    const worker = new Worker(new URL('./thread.ts', import.meta.url), start)
    worker.on('message', (reply: FromArtifactThread) => {
      if (reply.type === 'done') this.#calls.done(reply.id, reply.result)
      else this.#calls.refused(reply.id, reply.problem)
    })
    const ended = (reason: string): void => {
      if (this.#worker === worker) this.#worker = null
      this.#calls.failAll(new ServiceError('store_failed', reason))
    }
    worker.on('error', error => ended(`The artifact thread failed: ${error.message}.`))
    this.#exited = new Promise(resolve => {
      worker.on('exit', () => {
        ended('The artifact thread ended.')
        resolve()
      })
    })
    return worker
  }
}

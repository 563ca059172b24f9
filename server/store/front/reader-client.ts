import { Worker } from 'node:worker_threads'
import { ServiceError } from '../../../protocol/errors.ts'
import { Calls } from './calls.ts'
import type { ReaderReply } from './replies.ts'
import type { ReaderRequest, ReaderStart, ReadRequest } from './requests.ts'

/** What it makes lives for one answer or one page; with the room that is there by default, an export takes 25 MiB more and is no faster. */
const YOUNG_MB = 8

/** The front's side of the reader thread. It starts with the first read, and again with the next one should it die. */
export class Reader {
  readonly #start_with: ReaderStart
  readonly #calls = new Calls()
  #worker: Worker | null = null
  #exited: Promise<void> = Promise.resolve()
  #closed = false

  constructor(start_with: ReaderStart) {
    this.#start_with = start_with
  }

  /** `given` goes to the reader and is gone here. */
  call<Result>(request: ReadRequest, given: ArrayBuffer[] = []): Promise<Result> {
    if (this.#closed) return Promise.reject(new ServiceError('store_failed', 'The store is closed.'))
    const worker = (this.#worker ??= this.#start())
    return this.#calls.open(id => worker.postMessage({ id, request } satisfies ReaderRequest, given))
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#worker?.postMessage('close')
    await this.#exited
  }

  #start(): Worker {
    const worker = new Worker(new URL('./reader.ts', import.meta.url), {
      name: 'reader',
      workerData: this.#start_with,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    })
    worker.on('message', (reply: ReaderReply) => {
      if (reply.type === 'done') this.#calls.done(reply.id, reply.result)
      else this.#calls.refused(reply.id, reply.problem)
    })
    const ended = (reason: string): void => {
      if (this.#worker === worker) this.#worker = null
      this.#calls.failAll(new ServiceError('store_failed', reason))
    }
    worker.on('error', error => ended(`The reader thread failed: ${error.message}.`))
    this.#exited = new Promise(resolve => {
      worker.on('exit', () => {
        ended('The reader thread ended.')
        resolve()
      })
    })
    return worker
  }
}

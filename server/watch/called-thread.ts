import { type ResourceLimits, Worker } from 'node:worker_threads'
import { type Problem, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { Calls } from './calls.ts'
import type { WatchedThread } from './thread-watch.ts'

/** To a thread that answers requests, in any order. */
export type ToCalledThread<Request> =
  | { readonly type: 'call'; readonly id: number; readonly request: Request }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'close' }

export type FromCalledThread =
  /** Of a ping, too. */
  | { readonly type: 'done'; readonly id: number; readonly result: unknown }
  | { readonly type: 'refused'; readonly id: number; readonly problem: Problem }

export interface CalledThreadParts {
  readonly name: string
  readonly module: URL
  readonly worker_data: unknown
  readonly resource_limits?: ResourceLimits
}

interface Running {
  readonly worker: Worker
  readonly calls: Calls
  readonly exited: Promise<void>
}

/**
 * The front's side of a thread that answers requests: the reader, the artifacts. It starts with the first request, and again with the
 * next one when it has died or was ended because it did not answer; what waited for it is refused with `store_failed`.
 *
 *   off --call--> running --it dies, it is silent--> off
 *   running --close--> closed
 */
export class CalledThread<Request> implements WatchedThread {
  readonly name: string
  readonly #parts: CalledThreadParts
  #running: Running | null = null
  #closed = false

  constructor(parts: CalledThreadParts) {
    this.#parts = parts
    this.name = parts.name
  }

  get isRunning(): boolean {
    return this.#running !== null
  }

  /** `given` goes to the thread and is gone here. */
  async call<Result>(request: Request, given: readonly ArrayBuffer[] = []): Promise<Result> {
    if (this.#closed) throw new ServiceError('store_failed', 'The engine is stopping.')
    const { worker, calls } = (this.#running ??= this.#start())
    return calls.open(id =>
      worker.postMessage({ type: 'call', id, request } satisfies ToCalledThread<Request>, [...given]),
    )
  }

  ping(): Promise<unknown> | null {
    if (this.#running === null || this.#closed) return null
    const { worker, calls } = this.#running
    return calls.open(id => worker.postMessage({ type: 'ping', id } satisfies ToCalledThread<Request>))
  }

  /** Nothing that it holds is needed: another one takes its place with the next request. */
  silent(ms: number): 'replaced' {
    const running = this.#running
    if (running === null) return 'replaced'
    this.#ended(running, `The ${this.name} thread has not answered for ${Math.round(ms / 1000)} s and was ended.`)
    // It rejects for no reason that Node names; the exit event decides.
    running.worker.terminate().catch(() => {})
    return 'replaced'
  }

  async close(): Promise<void> {
    this.#closed = true
    const running = this.#running
    if (running === null) return
    running.worker.postMessage({ type: 'close' } satisfies ToCalledThread<Request>)
    const late = setTimeout(() => running.worker.terminate().catch(() => {}), limits.THREAD_CLOSE_MS)
    await running.exited
    clearTimeout(late)
  }

  #start(): Running {
    const { name, module, worker_data, resource_limits } = this.#parts
    const worker = new Worker(module, { name, workerData: worker_data, resourceLimits: resource_limits ?? {} })
    const calls = new Calls()
    const exited = Promise.withResolvers<void>()
    const running: Running = { worker, calls, exited: exited.promise }
    worker.on('message', (reply: FromCalledThread) => {
      if (reply.type === 'done') calls.done(reply.id, reply.result)
      else calls.refused(reply.id, reply.problem)
    })
    worker.on('error', error => this.#ended(running, `The ${name} thread failed: ${error.message}.`))
    worker.on('exit', () => {
      this.#ended(running, `The ${name} thread ended.`)
      exited.resolve()
    })
    return running
  }

  /** What was asked of this thread is refused; what was asked of its successor is not. */
  #ended(running: Running, reason: string): void {
    if (this.#running === running && !this.#closed) this.#running = null
    running.calls.failAll(new ServiceError('store_failed', reason))
  }
}

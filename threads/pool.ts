import type { Transferable, Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'

/** The only file that knows piscina: threads that run user code, as tasks of a fixed number of threads. */
export interface ThreadPoolOptions {
  /** The module whose default export is the task. */
  readonly module: URL
  readonly threads: number
  /** Threads that may exist beside `threads` while some are being replaced. */
  readonly spare?: number
  readonly heap_mb: number
  readonly max_waiting?: number
}

export class ThreadPool {
  readonly #piscina: Piscina

  constructor(options: ThreadPoolOptions) {
    this.#piscina = new Piscina({
      filename: options.module.href,
      minThreads: options.threads,
      maxThreads: options.threads + (options.spare ?? 0),
      idleTimeout: options.spare ? 1000 : Number.POSITIVE_INFINITY,
      // A synchronous wait between tasks would stop a body's timers and sockets.
      atomics: 'disabled',
      concurrentTasksPerWorker: 1,
      maxQueue: options.max_waiting ?? Number.POSITIVE_INFINITY,
      resourceLimits: { maxOldGenerationSizeMb: options.heap_mb },
      recordTiming: false,
    })
    // A thread that dies between tasks is replaced; within a task the task's promise tells.
    this.#piscina.on('error', () => undefined)
  }

  /** Rejects when the thread dies under the task or `signal` aborts it, which ends the thread. */
  run(task: unknown, options: { transfer?: readonly Transferable[]; signal?: AbortSignal } = {}): Promise<unknown> {
    return this.#piscina.run(task, {
      transferList: [...(options.transfer ?? [])] as never,
      ...(options.signal ? { signal: options.signal } : {}),
    })
  }

  /** What tasks say about themselves through `parentPort`. */
  onMessage(handler: (message: unknown) => void): void {
    this.#piscina.on('message', handler)
  }

  get workers(): readonly Worker[] {
    return this.#piscina.threads
  }

  get waiting(): number {
    return this.#piscina.queueSize
  }

  /** Ends every thread, whatever it does. */
  async end(): Promise<void> {
    await this.#piscina.destroy()
  }
}

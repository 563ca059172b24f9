import type { Transferable, Worker } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { bodyEnvironment } from '../core/flow/environment.ts'
import { limits } from '../protocol/limits.ts'

/** The only file that knows piscina: threads that run user code, as tasks of a fixed number of threads. */
export interface ThreadPoolOptions {
  /** The module whose default export is the task. */
  readonly module: URL
  readonly threads: number
  /** Threads that may exist beside `threads` while some are being replaced. */
  readonly spare?: number
  readonly heap_mb: number
}

/** Ends a task, and the thread that runs it. An AbortController does the same; making one costs as much as a short task. */
export class TaskEnd {
  aborted = false
  readonly reason = undefined
  #listener: (() => void) | null = null

  end(): void {
    if (this.aborted) return
    this.aborted = true
    this.#listener?.()
  }

  // The interface that piscina needs from a signal that is not an AbortSignal.
  once(_event: 'abort', listener: () => void): void {
    this.#listener = listener
  }

  off(): void {
    this.#listener = null
  }

  removeListener(): void {
    this.#listener = null
  }
}

/** What piscina's worker says when it has loaded the module. */
const LOADED = '_WORKER_READY'

export class ThreadPool {
  readonly #piscina: Piscina
  /** Of each thread that was seen: it has loaded the module, or it is gone. */
  readonly #loaded = new Map<number, Promise<void>>()

  constructor(options: ThreadPoolOptions) {
    this.#piscina = new Piscina({
      filename: options.module.href,
      env: bodyEnvironment(process.env),
      minThreads: options.threads,
      maxThreads: options.threads + (options.spare ?? 0),
      idleTimeout: options.spare ? 1000 : Number.POSITIVE_INFINITY,
      // A synchronous wait between tasks would stop a body's timers and sockets.
      atomics: 'disabled',
      concurrentTasksPerWorker: 1,
      resourceLimits: { maxOldGenerationSizeMb: options.heap_mb },
      recordTiming: false,
    })
    // A thread that dies between tasks is replaced; within a task the task's promise tells.
    this.#piscina.on('error', () => undefined)
    this.#piscina.on('workerCreate', ({ id }: { id: number }) => {
      if (!this.#loaded.has(id)) this.#loaded.set(id, Promise.resolve())
    })
    this.#follow()
  }

  /** Threads that are new: piscina says of those that it starts with that they are ready before they are. */
  #follow(): void {
    for (const worker of this.#piscina.threads) {
      if (this.#loaded.has(worker.threadId)) continue
      const loaded = new Promise<void>(resolve => {
        worker.on('message', message => {
          if (typeof message === 'object' && message !== null && LOADED in message) resolve()
        })
        worker.once('exit', () => resolve())
      })
      this.#loaded.set(worker.threadId, loaded)
    }
  }

  /**
   * Resolves when every thread has loaded the module. A thread that is ended while it loads takes the process along (Node 22:
   * `v8::Module::IsGraphAsync must be used on an instantiated module`), so wait for it before ending threads or tasks in a hurry.
   */
  async loaded(): Promise<void> {
    this.#follow()
    const late = new Promise(resolve => setTimeout(resolve, limits.THREAD_LOAD_MS).unref())
    const threads = this.#piscina.threads.map(worker => this.#loaded.get(worker.threadId))
    await Promise.race([Promise.all(threads), late])
  }

  /** Rejects when the thread dies under the task or `end` ends it, and the thread. */
  run(task: unknown, options: { transfer?: readonly Transferable[]; end?: TaskEnd } = {}): Promise<unknown> {
    return this.#piscina.run(task, {
      transferList: [...(options.transfer ?? [])] as never,
      ...(options.end ? { signal: options.end as never } : {}),
    })
  }

  get workers(): readonly Worker[] {
    return this.#piscina.threads
  }

  /** Ends every thread, whatever it does. */
  async end(): Promise<void> {
    await this.loaded()
    await this.#piscina.destroy()
  }
}

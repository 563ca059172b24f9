import type { MessagePort } from 'node:worker_threads'
import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { CallStarted, CallTask } from '../../threads/call.ts'
import type { CallRequest } from '../../threads/lane-messages.ts'
import { ThreadPool } from '../../threads/pool.ts'
import type { LiveBounds } from './bounds.ts'

/** Why a call ended without an answer of its own. */
export type LostCall = (code: ErrorCode, message: string) => void

interface Call {
  readonly lost: LostCall
  readonly port: MessagePort
  readonly node: string
  readonly timeout_s: number | null
  readonly abort: AbortController
  thread: number | null
  limit: NodeJS.Timeout | null
  /** Why the front ended it. */
  ended_for: { code: ErrorCode; message: string } | null
}

export interface CallDeskOptions {
  readonly slots: number
  readonly bodies: string
  readonly bounds: LiveBounds
  /** A call's thread was ended or died. */
  onThreadLost(node: string, code: ErrorCode): void
}

/**
 * Node calls in call slots. The pool starts with the first call. A call that runs past its timeout is told to abort; after a
 * grace its thread is ended. A thread that nears its heap cap is ended before it can take the process with it.
 */
export class CallDesk {
  readonly #options: CallDeskOptions
  readonly #calls = new Map<number, Call>()
  #pool: ThreadPool | null = null
  #ids = 0
  #retired: Promise<void>[] = []

  constructor(options: CallDeskOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#calls.size
  }

  take(request: CallRequest, lost: LostCall): void {
    const id = ++this.#ids
    const call: Call = {
      lost,
      port: request.port,
      node: request.node.qualified,
      timeout_s: request.node.timeout_s,
      abort: new AbortController(),
      thread: null,
      limit: null,
      ended_for: null,
    }
    this.#calls.set(id, call)
    const task: CallTask = { ...request, call: id, bodies: this.#options.bodies }
    this.#poolNow()
      .run(task, { transfer: [request.port], signal: call.abort.signal })
      .then(
        () => this.#over(id),
        error => this.#gone(id, error),
      )
  }

  /** Ends the threads whose calls near the heap cap; called a few times a second. */
  async watchHeaps(): Promise<void> {
    if (this.#pool === null || this.#calls.size === 0) return
    const cap = this.#options.bounds.call_heap_mb * 1024 * 1024
    for (const worker of this.#pool.workers) {
      const heap = await worker.getHeapStatistics().catch(() => null)
      if (heap === null || heap.used_heap_size < cap * limits.HEAP_END_SHARE) continue
      const call = [...this.#calls.values()].find(one => one.thread === worker.threadId)
      if (call === undefined) continue
      this.#end(call, 'out_of_memory', `It held ${Math.round(heap.used_heap_size / 2 ** 20)} MiB of heap.`)
    }
  }

  /** Calls from now on load their modules anew; those that run finish on the threads that they have. */
  refresh(): void {
    const old = this.#pool
    if (old === null) return
    this.#pool = null
    const ids = [...this.#calls.keys()]
    const ended = (async () => {
      while (ids.some(id => this.#calls.has(id))) await new Promise(resolve => setTimeout(resolve, 50))
      await old.end()
    })()
    this.#retired.push(ended)
  }

  async close(): Promise<void> {
    await this.#pool?.loaded()
    for (const call of this.#calls.values()) this.#end(call, 'interrupted', 'The engine ends.')
    await this.#pool?.end()
    await Promise.allSettled(this.#retired)
  }

  #poolNow(): ThreadPool {
    if (this.#pool !== null) return this.#pool
    const module = new URL('../../threads/call.ts', import.meta.url)
    const { slots, bounds } = this.#options
    const pool = new ThreadPool({ module, threads: slots, heap_mb: bounds.call_heap_mb })
    pool.onMessage(message => this.#started(message as CallStarted))
    this.#pool = pool
    return pool
  }

  #started(message: CallStarted): void {
    if (message?.type !== 'call_started') return
    const call = this.#calls.get(message.call)
    if (call === undefined) return
    call.thread = message.thread
    if (call.timeout_s === null) return
    call.limit = setTimeout(() => this.#timedOut(call), Math.min(call.timeout_s * 1000, 2 ** 31 - 1))
  }

  #timedOut(call: Call): void {
    const message = `It ran past its timeout of ${call.timeout_s} s.`
    call.ended_for = { code: 'timeout', message }
    call.lost('timeout', message)
    call.limit = setTimeout(() => call.abort.abort(), this.#options.bounds.call_grace_ms)
  }

  #end(call: Call, code: ErrorCode, message: string): void {
    call.ended_for = { code, message }
    call.abort.abort()
  }

  #over(id: number): void {
    const call = this.#calls.get(id)
    if (call?.limit) clearTimeout(call.limit)
    this.#calls.delete(id)
  }

  /** The thread is gone, or no slot took the call. */
  #gone(id: number, error: unknown): void {
    const call = this.#calls.get(id)
    if (call === undefined) return
    this.#over(id)
    const out_of_memory = (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY'
    const found = out_of_memory
      ? { code: 'out_of_memory' as const, message: `Its heap passed ${this.#options.bounds.call_heap_mb} MiB.` }
      : { code: 'thread_lost' as const, message: error instanceof Error ? error.message : 'Its thread ended.' }
    const { code, message } = call.ended_for ?? found
    this.#options.onThreadLost(call.node, code)
    call.lost(code, message)
  }
}

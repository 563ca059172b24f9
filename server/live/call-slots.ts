import type { MessagePort, Worker } from 'node:worker_threads'
import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { ArtifactPlace } from '../../threads/artifact-files.ts'
import type { CallTask } from '../../threads/call.ts'
import type {
  CallEnd,
  CallMetric,
  CallRequest,
  FromCall,
  FromSlot,
  Note,
  RunCallRequest,
  ToCall,
  ToSlot,
} from '../../threads/lane-messages.ts'
import { failure } from '../../threads/node-call.ts'
import { NodePacker } from '../../threads/packed-node.ts'
import { TaskEnd, ThreadPool } from '../../threads/pool.ts'
import type { LiveBounds } from './bounds.ts'

/** Why a call ended without an answer of its own. */
export type LostCall = (code: ErrorCode, message: string) => void

/** What a call of a batch run tells whoever dispatched it, in the order in which the body did it. */
export interface CallListener {
  /** A slot has taken it. */
  emitted(outputs: unknown, processed: () => void): void
  note(note: Note): void
  metrics(points: readonly CallMetric[]): void
  /** The body has stored it. */
  artifact(digest: string): void
  /** The last: the slot is free, or its thread has ended. */
  ended(outcome: CallEnd['outcome']): void
}

export interface RunCall {
  /** The body is told; after the grace its thread is ended. `ended` follows in any case. */
  end(code: ErrorCode, message: string): void
}

interface Call {
  readonly lost: LostCall
  readonly ended: () => void
  readonly node: string
  readonly timeout_s: number | null
  readonly abort: TaskEnd
  limit: NodeJS.Timeout | null
  /** Why the front ended it. */
  ended_for: { code: ErrorCode; message: string } | null
  /** Tells the body to stop; null for a live call, whose lane does. */
  tell: ((message: ToCall) => void) | null
  listener: CallListener | null
  received: number
  /** A result that came ahead of what was sent before it. */
  result: CallEnd | null
  readonly pool: ThreadPool
  /** Its thread, from when it was told to end: what the call held is free when that has. */
  dying: Worker | null
}

/** More than there are ever threads at once; a thread's calls stand at its id modulo this. */
const RUNNING_WORDS = 4096
/** The id of a worker that has exited. */
const ENDED_THREAD = -1

export interface CallSlotsOptions {
  readonly slots: number
  readonly bodies: string
  readonly artifacts: ArtifactPlace
  readonly bounds: LiveBounds
  /** A call's thread was ended or died. */
  onThreadLost(node: string, code: ErrorCode): void
}

/**
 * Node calls in call slots. The pool starts with the first call. A call that runs past its timeout is told to abort; after a
 * grace its thread is ended. A thread that nears its heap cap is ended before it can take the process with it.
 */
export class CallSlots {
  readonly #options: CallSlotsOptions
  readonly #calls = new Map<number, Call>()
  readonly #packer = new NodePacker()
  readonly #running = new Int32Array(new SharedArrayBuffer(RUNNING_WORDS * 4))
  /** By thread: where its calls of batch runs are reached. */
  readonly #lines = new Map<number, MessagePort>()
  #pool: ThreadPool | null = null
  #ids = 0
  #retired: Promise<void>[] = []

  constructor(options: CallSlotsOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#calls.size
  }

  /** A call of a live node: it answers its lane itself. `ended`: its slot is free, or its thread is gone. */
  take(request: CallRequest, lost: LostCall, ended: () => void): void {
    const id = this.#open(request.node, lost, ended)
    const task: CallTask = {
      ...request,
      run: null,
      call: id,
      bodies: this.#options.bodies,
      artifacts: this.#options.artifacts,
      running: this.#running,
    }
    this.#calls
      .get(id)!
      .pool.run(task, { transfer: [request.port], end: this.#calls.get(id)!.abort })
      .then(
        () => this.#over(id),
        error => this.#gone(id, error),
      )
  }

  /** A call of a batch run. */
  run(request: RunCallRequest, state: Record<string, unknown>, listener: CallListener): RunCall {
    const { flow, run, node, inputs } = request
    const lost: LostCall = (code, message) => {
      const reason = failure(code, `${node.qualified}: ${message}`)
      listener.ended({ type: 'threw', failure: reason, state, ms: 0 })
    }
    const id = this.#open(node, lost, () => {})
    const call = this.#calls.get(id)!
    call.listener = listener
    call.tell = message => this.#lineTo(id)?.postMessage({ call: id, message } satisfies ToSlot)
    const task: CallTask = {
      call: id,
      flow,
      run,
      node: this.#packer.pack(node),
      inputs,
      state,
      port: null,
      bodies: this.#options.bodies,
      artifacts: this.#options.artifacts,
      running: this.#running,
    }
    this.#calls
      .get(id)!
      .pool.run(task, { end: call.abort })
      .then(
        result => this.#returned(id, call, result as CallEnd),
        error => this.#gone(id, error),
      )
    return { end: (code, message) => this.#endGently(id, code, message) }
  }

  #open(node: CallRequest['node'], lost: LostCall, ended: () => void): number {
    const id = ++this.#ids
    this.#calls.set(id, {
      lost,
      ended,
      node: node.qualified,
      timeout_s: node.timeout_s,
      abort: new TaskEnd(),
      limit: null,
      ended_for: null,
      tell: null,
      listener: null,
      received: 0,
      result: null,
      pool: this.#poolNow(),
      dying: null,
    })
    return id
  }

  /** What the body sent comes over another port than the result, which waits for it. */
  #returned(id: number, call: Call, result: CallEnd): void {
    if (call.received < result.sent) {
      call.result = result
      return
    }
    this.#over(id)
    const { outcome } = result
    const why = call.ended_for
    if (why === null) call.listener!.ended(outcome)
    else {
      const reason = failure(why.code, `${call.node}: ${why.message}`)
      call.listener!.ended({ type: 'threw', failure: reason, state: outcome.state, ms: outcome.ms })
    }
  }

  #threadOf(call: number): Worker | undefined {
    const { pool } = this.#calls.get(call)!
    return pool.workers.find(worker => Atomics.load(this.#running, worker.threadId % RUNNING_WORDS) === call)
  }

  #lineTo(call: number): MessagePort | undefined {
    const thread = this.#calls.has(call) ? this.#threadOf(call) : undefined
    return thread && this.#lines.get(thread.threadId)
  }

  /** Ends the threads whose calls near the heap cap; called a few times a second. */
  async watchHeaps(): Promise<void> {
    if (this.#pool === null || this.#calls.size === 0) return
    const cap = this.#options.bounds.call_heap_mb * 1024 * 1024
    for (const worker of this.#pool.workers) {
      const running = Atomics.load(this.#running, worker.threadId % RUNNING_WORDS)
      const call = this.#calls.get(running)
      if (call === undefined) continue
      const heap = await worker.getHeapStatistics().catch(() => null)
      if (heap === null || heap.used_heap_size < cap * limits.HEAP_END_SHARE) continue
      if (!this.#calls.has(running)) continue
      this.#end(running, call, 'out_of_memory', `It held ${Math.round(heap.used_heap_size / 2 ** 20)} MiB of heap.`)
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
    for (const [id, call] of this.#calls) this.#end(id, call, 'interrupted', 'The engine ends.')
    await this.#pool?.end()
    await Promise.allSettled(this.#retired)
  }

  #poolNow(): ThreadPool {
    if (this.#pool !== null) return this.#pool
    const module = new URL('../../threads/call.ts', import.meta.url)
    const { slots, bounds } = this.#options
    const pool = new ThreadPool({ module, threads: slots, heap_mb: bounds.call_heap_mb })
    pool.onMessage(message => this.#said(message as FromSlot))
    this.#pool = pool
    return pool
  }

  /** User code can post here, too: what is not understood is left alone. */
  #said(message: FromSlot): void {
    switch (message?.type) {
      case 'line':
        this.#lines.get(message.thread)?.close()
        this.#lines.set(message.thread, message.port)
        message.port.unref()
        message.port.once('close', () => {
          if (this.#lines.get(message.thread) === message.port) this.#lines.delete(message.thread)
        })
        break
      case 'call_started':
        this.#started(message.call, this.#calls.get(message.call))
        break
      case 'call': {
        const call = this.#calls.get(message.call)
        if (call?.listener) this.#heard(message.call, call, message.message)
        break
      }
      default:
    }
  }

  #heard(id: number, call: Call, message: FromCall): void {
    const listener = call.listener!
    call.received++
    switch (message.type) {
      case 'emit':
        listener.emitted(message.outputs, () => call.tell!({ type: 'processed' }))
        break
      case 'note':
        listener.note(message.note)
        break
      case 'metrics':
        listener.metrics(message.points)
        break
      case 'artifact':
        listener.artifact(message.digest)
        break
      default:
    }
    if (call.result !== null) this.#returned(id, call, call.result)
  }

  #started(id: number, call: Call | undefined): void {
    if (call === undefined || call.timeout_s === null) return
    call.limit = setTimeout(() => this.#timedOut(id, call), Math.min(call.timeout_s * 1000, 2 ** 31 - 1))
  }

  #timedOut(id: number, call: Call): void {
    const message = `It ran past its timeout of ${call.timeout_s} s.`
    call.ended_for = { code: 'timeout', message }
    if (call.tell === null) call.lost('timeout', message)
    else call.tell({ type: 'abort', reason: message })
    call.limit = setTimeout(() => this.#abort(id, call), this.#options.bounds.call_grace_ms)
  }

  #endGently(id: number, code: ErrorCode, message: string): void {
    const call = this.#calls.get(id)
    if (call === undefined || call.ended_for !== null) return
    call.ended_for = { code, message }
    if (call.limit !== null) clearTimeout(call.limit)
    // What waits for a slot still is taken out of the line; no thread ends for it.
    if (this.#threadOf(id) === undefined) return call.abort.end()
    call.tell!({ type: 'abort', reason: message })
    call.limit = setTimeout(() => this.#abort(id, call), this.#options.bounds.call_grace_ms)
  }

  #end(id: number, call: Call, code: ErrorCode, message: string): void {
    call.ended_for = { code, message }
    this.#abort(id, call)
  }

  #abort(id: number, call: Call): void {
    call.dying ??= this.#threadOf(id) ?? null
    call.abort.end()
  }

  #over(id: number): void {
    const call = this.#calls.get(id)
    if (call?.limit) clearTimeout(call.limit)
    this.#calls.delete(id)
    call?.ended()
  }

  /** The thread is gone, or no slot took the call. */
  #gone(id: number, error: unknown): void {
    const call = this.#calls.get(id)
    if (call === undefined) return
    // The pool gives an aborted task up before its thread has ended.
    if (call.dying !== null && call.dying.threadId !== ENDED_THREAD) {
      call.dying.once('exit', () => this.#gone(id, error))
      call.dying = null
      return
    }
    this.#over(id)
    const out_of_memory = (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY'
    const found = out_of_memory
      ? { code: 'out_of_memory' as const, message: `Its heap passed ${this.#options.bounds.call_heap_mb} MiB.` }
      : { code: 'thread_lost' as const, message: error instanceof Error ? error.message : 'Its thread ended.' }
    const { code, message } = call.ended_for ?? found
    if (code !== 'cancelled') this.#options.onThreadLost(call.node, code)
    call.lost(code, message)
  }
}

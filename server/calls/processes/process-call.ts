import { type ErrorCode, ServiceError } from '../../../protocol/errors.ts'
import { nowUs } from '../../../protocol/time.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { BODY_CODES, type RunFrame } from '../../../protocol/worker/frames.ts'
import { failure, failureOf } from '../../../threads/calls/node-call.ts'
import { keptLine, LineBudget } from '../../../threads/calls/node-context.ts'
import { encodeState } from '../../../threads/lane/kept-state.ts'
import type { FromCall, LogLevel, RunCallRequest, RunIdentity } from '../../../threads/lane/messages.ts'
import type { CallSink } from '../call-sink.ts'
import type { CallFrame, Loss } from './attached-worker.ts'
import type { Awaited } from './process-pool.ts'
import type { WorkerProcess } from './worker-process.ts'

/** A call as it goes to a process. */
export interface ProcessRequest extends Omit<RunCallRequest, 'run'> {
  readonly run: RunIdentity | null
  readonly state: Record<string, unknown>
}

export interface ProcessCallParts {
  readonly grace_ms: number
  acquire(request: ProcessRequest): Awaited
  release(process: WorkerProcess): void
  retire(process: WorkerProcess): void
  /** The front has begun to end: a connection that ends says nothing about a body. */
  isClosing(): boolean
  processLost(node: string, code: ErrorCode): void
}

const codec = createCodec()
/** From a process that ends with its call. */
const LAST_CODES: ReadonlySet<string> = new Set(['out_of_memory', 'worker_lost'])
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * One call of a body in a process, from the wait for a process to its end.
 *
 *   waiting --a process is there--> running --result, error--> over
 *   waiting --it is told to end--> over
 *   running --it is told to end--> ending --result, error; after the grace the process is killed--> over
 *   running, ending --its process is gone--> over
 */
export class ProcessCall {
  readonly #parts: ProcessCallParts
  readonly #request: ProcessRequest
  readonly #sink: CallSink
  readonly #awaited: Awaited
  readonly #printed = new LineBudget()
  #mode: 'waiting' | 'running' | 'ending' | 'over' = 'waiting'
  #process: WorkerProcess | null = null
  #limit: NodeJS.Timeout | null = null
  /** Why the engine ended it. */
  #why: Loss | null = null
  /** Its connection ended with the front: whoever ends the engine ends it, too. */
  #stranded = false

  constructor(parts: ProcessCallParts, request: ProcessRequest, sink: CallSink) {
    this.#parts = parts
    this.#request = request
    this.#sink = sink
    this.#awaited = parts.acquire(request)
    this.#awaited.promise.then(
      process => this.#start(process),
      error => this.#over(this.#why ?? { code: error.code, message: error.message }),
    )
  }

  /** The body is told; after the grace its process is ended. */
  end(code: ErrorCode, message: string): void {
    if (this.#why !== null || this.#mode === 'over') return
    this.#why = { code, message }
    this.#tellToEnd(message)
  }

  /** At once. */
  kill(code: ErrorCode, message: string): void {
    if (this.#mode === 'over') return
    this.#why ??= { code, message }
    this.#awaited.cancel()
    this.#process?.kill()
    if (this.#stranded) this.#over(this.#why)
  }

  /** The oldest emission that the body waits for has run. */
  processed(): void {
    this.#process?.worker?.processed()
  }

  #start(process: WorkerProcess): void {
    const { timeout_s } = this.#request.node
    this.#process = process
    this.#mode = 'running'
    process.onLine = (text, level) => this.#line(text, level)
    if (timeout_s !== null) this.#limit = setTimeout(() => this.#timedOut(), Math.min(timeout_s * 1000, TIMER_MS_MAX))
    process.worker!.run(runFrame(this.#request), {
      said: frame => this.#said(frame),
      lost: loss => void this.#lost(process, loss),
    })
  }

  #timedOut(): void {
    if (this.#why !== null) return
    const message = `It ran past its timeout of ${this.#request.node.timeout_s} s.`
    this.#why = { code: 'timeout', message }
    this.#sink.timedOut('timeout', message)
    this.#tellToEnd(message)
  }

  #tellToEnd(message: string): void {
    if (this.#limit !== null) clearTimeout(this.#limit)
    if (this.#mode === 'waiting') return this.#awaited.cancel()
    if (this.#stranded) return this.#over(this.#why!)
    this.#mode = 'ending'
    this.#process!.worker!.cancel(message)
    this.#limit = setTimeout(() => this.#process!.kill(), this.#parts.grace_ms)
  }

  #said(frame: CallFrame): void {
    const { node, run } = this.#request
    switch (frame.t) {
      case 'emit':
        return this.#sink.said({ type: 'emit', outputs: frame.outputs })
      case 'artifact':
        if (run !== null) this.#sink.said({ type: 'artifact', digest: frame.digest })
        break
      case 'metric':
        if (run !== null) return this.#sink.said({ type: 'metrics', points: frame.points })
        for (const point of frame.points) this.#note({ type: 'gauge', node: node.qualified, ...point, ts: nowUs() })
        break
      case 'log':
        return this.#note({ type: 'log', node: node.qualified, level: frame.level, text: frame.text, ts: nowUs() })
      case 'report': {
        const { status, text } = frame
        return this.#note({ type: 'report', node: node.qualified, status, text, ts: nowUs() })
      }
      case 'result':
      case 'error':
        // What the process printed before is in its pipes by now, and read within the next turn.
        setImmediate(() => setImmediate(() => this.#last(frame)))
        break
      default:
        frame satisfies never
    }
  }

  #last(frame: Extract<CallFrame, { t: 'result' | 'error' }>): void {
    if (frame.t === 'result') return this.#returned(frame)
    const { state, ms, code } = frame
    this.#ended({ type: 'threw', failure: this.#failureOf(frame), state: this.#kept(state), ms }, code)
  }

  #note(note: Extract<FromCall, { type: 'note' }>['note']): void {
    this.#sink.said({ type: 'note', note })
  }

  /** What the process printed beside its thread. */
  #line(text: string, level: LogLevel): void {
    const missed = this.#printed.take(nowUs())
    if (missed < 0 || this.#mode === 'over') return
    this.#note({ type: 'log', node: this.#request.node.qualified, level, text: keptLine(text, missed), ts: nowUs() })
  }

  /** A state that cannot be kept is refused as it is in a thread: the outputs stand, and the state stays what it was. */
  #returned({ outputs, state, ms }: Extract<CallFrame, { t: 'result' }>): void {
    const refusal = encodeState(codec, { k: '', s: state }, this.#request.node.qualified)
    if (!(refusal instanceof ServiceError))
      return this.#ended({ type: 'returned', outputs: outputs ?? undefined, state, ms })
    if (outputs !== null) this.#sink.said({ type: 'emit', outputs })
    this.#ended({ type: 'threw', failure: failureOf(refusal), state: this.#request.state, ms })
  }

  #kept(state: Record<string, unknown> | null): Record<string, unknown> {
    const { state: before, node } = this.#request
    if (state === null) return before
    return encodeState(codec, { k: '', s: state }, node.qualified) instanceof ServiceError ? before : state
  }

  #failureOf({ code, message, stack }: Extract<CallFrame, { t: 'error' }>) {
    if (LAST_CODES.has(code)) return failure(code as ErrorCode, `${this.#request.node.qualified}: ${message}`)
    return { code: BODY_CODES.has(code) ? (code as ErrorCode) : ('node_error' as const), message, stack }
  }

  #ended(outcome: Extract<FromCall, { ms: number }>, code?: string): void {
    const { state, ms } = outcome
    const why = this.#why
    const reason = why && failure(why.code, `${this.#request.node.qualified}: ${why.message}`)
    this.#close()
    const process = this.#process!
    if (LAST_CODES.has(code ?? '')) {
      this.#parts.retire(process)
      this.#parts.processLost(this.#request.node.qualified, code as ErrorCode)
    } else this.#parts.release(process)
    this.#sink.said(reason === null ? outcome : { type: 'threw', failure: reason, state, ms })
    this.#sink.ended()
  }

  /** The process says how it ended, unless we know better. */
  async #lost(process: WorkerProcess, loss: Loss | null): Promise<void> {
    if (this.#parts.isClosing()) {
      this.#stranded = true
      if (this.#why !== null) this.#over(this.#why)
      return
    }
    this.#parts.retire(process)
    const found = await process.gone
    const { code, message } = this.#why ?? loss ?? found
    if (code !== 'cancelled') this.#parts.processLost(this.#request.node.qualified, code)
    this.#over({ code, message })
  }

  #over({ code, message }: Loss): void {
    if (this.#mode === 'over') return
    this.#close()
    this.#sink.lost(code, message)
    this.#sink.ended()
  }

  #close(): void {
    this.#mode = 'over'
    if (this.#limit !== null) clearTimeout(this.#limit)
  }
}

function runFrame({ flow, run, node, inputs, state, grant }: ProcessRequest): Omit<RunFrame, 't' | 'call'> {
  const ports = (list: readonly { port: string; dtype: RunFrame['ports']['inputs'][number]['dtype'] }[]) =>
    list.map(({ port, dtype }) => ({ name: port, dtype }))
  return {
    flow,
    node: node.id,
    run: run?.id ?? null,
    settings: node.settings,
    inputs,
    state,
    body: { language: node.language === 'python' ? 'python' : 'js', digest: node.digest! },
    ports: { inputs: ports(node.inputs), outputs: ports(node.outputs) },
    allocated: grant && { cpus: grant.granted.cpus, cards: [...grant.cards], ram_mb: grant.granted.ram_mb },
  }
}

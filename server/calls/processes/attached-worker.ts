import { sizeOfLine } from '../../../core/runs/log-lines.ts'
import { type ErrorCode, ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import {
  decodeWorkerFrame,
  type EngineFrame,
  type HelloFrame,
  type RunFrame,
  type VolatileFrame,
  type WelcomeFrame,
  type WorkerFrame,
} from '../../../protocol/worker/frames.ts'
import { encodeFrame, WORKER_PROTOCOL } from '../../../protocol/worker/wire.ts'
import { keptLine, LineBudget } from '../../../threads/calls/node-context.ts'
import type { Socket } from '../../http/socket.ts'
import type { Loss } from '../body-call.ts'

export type CallFrame = Exclude<WorkerFrame, { t: 'hello' | 'heartbeat' }>

/** Receives the frames of one call of a worker. */
export interface WorkerListener {
  /** A frame of the call; `result` or `error` is the last. */
  said(frame: CallFrame): void
  /** In place of `result` or `error`: no frame follows. Null when the connection ended for an unknown reason. */
  lost(loss: Loss | null): void
}

export interface AttachedWorkerParts {
  readonly socket: Socket
  readonly welcome: Omit<WelcomeFrame, 't' | 'protocol'>
  /** Milliseconds of a steady clock. */
  now_ms(): number
  welcomed(worker: AttachedWorker): void
}

const REFUSED = 1008

/**
 * One worker's connection, at the engine's end. Its frames are checked against the protocol: after a malformed frame, or one in
 * the wrong state, it is disconnected.
 *
 *   greeting --hello--> idle <--run, result or error--> busy
 *   any --its connection ends, it is cut off--> gone
 */
export class AttachedWorker {
  /** From its token; null when a user attached it. */
  readonly id: string | null
  hello: HelloFrame | null = null
  readonly #parts: AttachedWorkerParts
  readonly #lines = new LineBudget()
  #mode: 'greeting' | 'idle' | 'busy' | 'gone' = 'greeting'
  #since_ms: number
  #calls = 0
  #listener: WorkerListener | null = null
  /** Sizes of the emissions that wait for `processed`, oldest first, and their sum. */
  #unprocessed: number[] = []
  #unprocessed_bytes = 0
  /** Points of its call that were not taken yet, and bytes of its lines. */
  readonly #untaken = { points: 0, lines: 0 }
  /** Whether its call is of a batch run; then points are acknowledged. */
  #is_batch = false

  constructor(parts: AttachedWorkerParts) {
    this.#parts = parts
    const { caller } = parts.socket
    this.id = caller.kind === 'worker' ? caller.id : null
    this.#since_ms = parts.now_ms()
  }

  get isGone(): boolean {
    return this.#mode === 'gone'
  }

  /** Gives an idle worker a call. It stays idle when the frame cannot be encoded. */
  run(frame: Omit<RunFrame, 't' | 'call'>, listener: WorkerListener): void {
    if (this.#mode !== 'idle') throw new RangeError(`a worker that is ${this.#mode} takes no call`)
    const bytes = encodeFrame({ t: 'run', call: this.#calls + 1, ...frame })
    this.#calls++
    this.#mode = 'busy'
    this.#listener = listener
    this.#unprocessed = []
    this.#unprocessed_bytes = 0
    this.#untaken.points = this.#untaken.lines = 0
    this.#is_batch = frame.run !== null
    this.#parts.socket.sendBinary(bytes)
  }

  /** Tells the worker that its oldest open emission was processed. */
  processed(): void {
    this.#unprocessed_bytes -= this.#unprocessed.shift() ?? 0
    if (this.#mode === 'busy') this.#send({ t: 'processed', call: this.#calls })
  }

  /** Points of its call, or bytes of its lines, were taken. */
  taken(what: 'points' | 'lines', count: number): void {
    this.#untaken[what] -= count
    if (this.#mode !== 'busy') return
    const points = what === 'points' ? count : 0
    this.#send({ t: 'taken', call: this.#calls, points, ...(what === 'lines' ? { characters: count } : {}) })
  }

  /** Answers a request of its call to the volatile store. */
  answered(answer: Omit<VolatileFrame, 't' | 'call'>): void {
    if (this.#mode === 'busy') this.#send({ t: 'volatile', call: this.#calls, ...answer })
  }

  /** Answers a request of its call for a secret. */
  secret(ask: number, text: string | null): void {
    if (this.#mode === 'busy') this.#send({ t: 'secret', call: this.#calls, ask, text })
  }

  cancel(reason: string): void {
    if (this.#mode === 'busy') this.#send({ t: 'cancel', call: this.#calls, reason })
  }

  /** Tells the worker to end when its call has ended. */
  drain(): void {
    if (this.#mode !== 'gone') this.#send({ t: 'drain' })
  }

  /** Called a few times a second: disconnects a worker that never said hello, or that is silent. */
  watch(now_ms: number, silent_ms: number): void {
    const quiet_ms = now_ms - this.#since_ms
    if (this.#mode === 'greeting' && quiet_ms > limits.WORKER_HELLO_MS)
      this.#refuse('bad_worker_frame', 'The worker did not send "hello".')
    else if (quiet_ms > silent_ms)
      this.#refuse('node_silent', `The worker sent nothing for ${Math.round(quiet_ms / 1000)} s.`)
  }

  receive(bytes: Uint8Array): void {
    if (this.#mode === 'gone') return
    let frame: WorkerFrame
    try {
      frame = decodeWorkerFrame(bytes)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      return this.#refuse(error.code, error.detail)
    }
    switch (frame.t) {
      case 'hello':
        return this.#greet(frame)
      case 'heartbeat':
        this.#since_ms = this.#parts.now_ms()
        break
      default:
        this.#hear(frame, bytes.length)
    }
  }

  /** Its connection has ended. */
  closed(): void {
    this.#leave(null)
  }

  #greet(hello: HelloFrame): void {
    if (this.#mode !== 'greeting') return this.#refuse('bad_worker_frame', 'The worker sent "hello" twice.')
    const { protocol = WORKER_PROTOCOL } = hello
    if (protocol !== WORKER_PROTOCOL)
      return this.#refuse('worker_protocol', `The engine speaks ${WORKER_PROTOCOL}, this worker ${protocol}.`)
    this.hello = hello
    this.#mode = 'idle'
    this.#since_ms = this.#parts.now_ms()
    this.#send({ t: 'welcome', protocol: WORKER_PROTOCOL, ...this.#parts.welcome })
    this.#parts.welcomed(this)
  }

  #hear(frame: CallFrame, bytes: number): void {
    if (this.#mode !== 'busy' || frame.call !== this.#calls)
      return this.#refuse('bad_worker_frame', `The worker has no call ${frame.call}.`)
    const listener = this.#listener!
    if (frame.t === 'emit') {
      this.#unprocessed.push(bytes)
      this.#unprocessed_bytes += bytes
      if (
        this.#unprocessed.length > 2 * limits.UNAWAITED_EMITS ||
        this.#unprocessed_bytes > limits.WORKER_UNPROCESSED_BYTES
      )
        return this.#refuse('emit_overflow', 'The worker emitted far more than the engine had taken.')
    } else if (frame.t === 'metric') {
      if (this.#is_batch) this.#untaken.points += frame.points.length
      if (this.#untaken.points > 2 * limits.METRIC_POINTS_AWAY)
        return this.#refuse('bad_worker_frame', 'The worker sent far more points than the engine had taken.')
    } else if (frame.t === 'lines') {
      for (const { text } of frame.lines) this.#untaken.lines += sizeOfLine(text)
      if (!this.#is_batch || this.#untaken.lines > 2 * limits.RUN_LOG_AWAY)
        return this.#refuse('bad_worker_frame', 'The worker sent far more lines than the engine had taken.')
    } else if (frame.t === 'volatile_put' || frame.t === 'volatile_read' || frame.t === 'artifact_put') {
      // Only workers that the engine started may name a digest: they write into the store themselves.
      if (this.id === null) return this.#refuse('bad_worker_frame', 'The worker has no place on this machine.')
    } else if (frame.t === 'log') {
      const missed = this.#lines.take(this.#parts.now_ms() * 1000)
      if (missed < 0) return
      return listener.said({ ...frame, text: keptLine(frame.text, missed) })
    } else if (frame.t === 'result' || frame.t === 'error') {
      this.#mode = 'idle'
      this.#listener = null
    }
    listener.said(frame)
  }

  /** Disconnects the worker. */
  #refuse(code: ErrorCode, message: string): void {
    this.#send({ t: 'refuse', code, message })
    this.#leave({ code: code === 'bad_worker_frame' || code === 'too_large' ? 'worker_lost' : code, message })
    this.#parts.socket.end(REFUSED, code)
  }

  #leave(loss: Loss | null): void {
    if (this.#mode === 'gone') return
    this.#mode = 'gone'
    const listener = this.#listener
    this.#listener = null
    listener?.lost(loss)
  }

  #send(frame: EngineFrame): void {
    this.#parts.socket.sendBinary(encodeFrame(frame))
  }
}

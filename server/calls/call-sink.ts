import type { MessagePort } from 'node:worker_threads'
import type { PackedLines } from '../../core/runs/log-lines.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { failure } from '../../threads/calls/node-call.ts'
import type { CallMetric, CallOutcome, FromCall, LostCode, Note, ToCall } from '../../threads/lane/messages.ts'

/** Why a call ended without an answer of its own. */
export type LostCall = (code: LostCode, message: string) => void

/** Receives what a call of a batch run does, in the order in which the body did it. */
export interface CallListener {
  /** A call slot or a process has taken the call. */
  emitted(outputs: unknown, processed: () => void): void
  note(note: Note): void
  /** Call `taken` when the points are taken: the body may then send as many more. `dropped`: points that were not taken in time. */
  metrics(points: readonly CallMetric[], dropped: number, taken: () => void): void
  /** The same for lines of its log. */
  lines(lines: PackedLines, dropped: number, taken: () => void): void
  /** The body has stored an artifact. */
  artifact(digest: string): void
  /** Called last: the place is free, or has ended. */
  ended(outcome: CallOutcome): void
}

export interface RunCall {
  /** Tells the body to end; after the grace period its place is ended. `ended` follows in any case. */
  end(code: ErrorCode, message: string): void
  /** Ends its place at once. `ended` follows. */
  kill(code: ErrorCode, message: string): void
}

/** Receives what a call says, wherever it runs. */
export interface CallSink {
  /** Messages in the order in which the body sent them; `returned` or `threw` is the last. */
  said(message: FromCall): void
  /** The body has passed its timeout and was told to end. The call goes on until it has ended. */
  timedOut(code: ErrorCode, message: string): void
  /** In place of `returned` or `threw`: the call ended without an answer. */
  lost(code: ErrorCode, message: string): void
  /** The place was lost before the call began. True: the dispatcher makes the call again; false: the call may get another place. */
  unbegun(): boolean
  /** Called after everything else: the place is free, or gone. */
  ended(): void
}

/** The sink of a call of a batch run. */
export class RunSink implements CallSink {
  readonly #listener: CallListener
  readonly #node: string
  readonly #state: Record<string, unknown>
  readonly #tell: (message: ToCall) => void

  constructor(listener: CallListener, node: string, state: Record<string, unknown>, tell: (message: ToCall) => void) {
    this.#listener = listener
    this.#node = node
    this.#state = state
    this.#tell = tell
  }

  said(message: FromCall): void {
    switch (message.type) {
      case 'emit':
        return this.#listener.emitted(message.outputs, () => this.#tell({ type: 'processed' }))
      case 'note':
        return this.#listener.note(message.note)
      case 'metrics':
        return this.#metrics(message)
      case 'lines':
        return this.#lines(message)
      case 'artifact':
        return this.#listener.artifact(message.digest)
      default:
        this.#listener.ended(message)
    }
  }

  #metrics({ points, dropped }: Extract<FromCall, { type: 'metrics' }>): void {
    this.#listener.metrics(points, dropped, () => this.#tell({ type: 'taken', what: 'points', count: points.length }))
  }

  #lines({ lines, dropped }: Extract<FromCall, { type: 'lines' }>): void {
    this.#listener.lines(lines, dropped, () => this.#tell({ type: 'taken', what: 'lines', count: lines.size }))
  }

  timedOut(): void {}

  lost(code: ErrorCode, message: string): void {
    const reason = failure(code, `${this.#node}: ${message}`)
    this.#listener.ended({ type: 'threw', failure: reason, state: this.#state, ms: 0 })
  }

  unbegun(): boolean {
    return false
  }

  ended(): void {}
}

/**
 * The sink of a call of a live node. A body in a process answers its lane through this sink; a body in a call slot answers it directly.
 * The lane is told of a timeout at once, and of nothing that the body says after it.
 */
export class LaneSink implements CallSink {
  readonly #port: MessagePort
  readonly #lost: LostCall
  readonly ended: () => void
  #told = false

  constructor(port: MessagePort, lost: LostCall, ended: () => void) {
    this.#port = port
    this.#lost = lost
    this.ended = ended
  }

  said(message: FromCall): void {
    if (!this.#told) this.#port.postMessage(message)
  }

  timedOut(code: ErrorCode, message: string): void {
    this.lost(code, message)
  }

  lost(code: ErrorCode, message: string): void {
    if (this.#told) return
    this.#told = true
    this.#lost(code, message)
  }

  /** The port to its lane is gone with the place. */
  unbegun(): boolean {
    this.#told = true
    this.#lost('not_begun', 'Its thread did not begin it.')
    return true
  }
}

import type { MessagePort } from 'node:worker_threads'
import type { PackedLines } from '../../core/runs/log-lines.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { failure } from '../../threads/calls/node-call.ts'
import type { CallMetric, CallOutcome, FromCall, LostCode, Note, ToCall } from '../../threads/lane/messages.ts'

/** Why a call ended without an answer of its own. */
export type LostCall = (code: LostCode, message: string) => void

/** What a call of a batch run tells whoever dispatched it, in the order in which the body did it. */
export interface CallListener {
  /** A slot has taken it. */
  emitted(outputs: unknown, processed: () => void): void
  note(note: Note): void
  /** `taken`: the body may send so many more. `dropped`: points that nobody took in time. */
  metrics(points: readonly CallMetric[], dropped: number, taken: () => void): void
  /** The same of its lines. */
  lines(lines: PackedLines, dropped: number, taken: () => void): void
  /** The body has stored it. */
  artifact(digest: string): void
  /** The last: the slot is free, or its thread has ended. */
  ended(outcome: CallOutcome): void
}

export interface RunCall {
  /** The body is told; after the grace its place is ended. `ended` follows in any case. */
  end(code: ErrorCode, message: string): void
  /** Its place is ended at once. `ended` follows. */
  kill(code: ErrorCode, message: string): void
}

/** Where a call answers, wherever it runs. */
export interface CallSink {
  /** In the order in which the body did it; `returned` or `threw` is the last. */
  said(message: FromCall): void
  /** The body has run past its timeout; it is told, and the call goes on until it has ended. */
  timedOut(code: ErrorCode, message: string): void
  /** In place of the last. */
  lost(code: ErrorCode, message: string): void
  /** It has not begun, and its place is gone. True: whoever dispatched it does so again; false: it may be given to another place. */
  unbegun(): boolean
  /** After the last: what ran it is free, or gone. */
  ended(): void
}

/** Of a batch run. */
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
 * Of a live node. A body in a process answers its lane through here; one in a call slot does so itself. The lane hears of a timeout at
 * once, and of what the body says afterwards no more.
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

  /** The port to its lane went with it. */
  unbegun(): boolean {
    this.#told = true
    this.#lost('not_begun', 'Its thread did not begin it.')
    return true
  }
}

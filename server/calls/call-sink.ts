import type { ErrorCode } from '../../protocol/errors.ts'
import { failure } from '../../threads/calls/node-call.ts'
import type { CallMetric, CallOutcome, FromCall, Note } from '../../threads/lane/messages.ts'

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
  ended(outcome: CallOutcome): void
}

export interface RunCall {
  /** The body is told; after the grace its thread is ended. `ended` follows in any case. */
  end(code: ErrorCode, message: string): void
}

/** Where a call answers, wherever it runs. */
export interface CallSink {
  /** In the order in which the body did it; `returned` or `threw` is the last. */
  said(message: FromCall): void
  /** The body has run past its timeout; it is told, and the call goes on until it has ended. */
  timedOut(code: ErrorCode, message: string): void
  /** In place of the last. */
  lost(code: ErrorCode, message: string): void
  /** After the last: what ran it is free, or gone. */
  ended(): void
}

/** Of a batch run. */
export class RunSink implements CallSink {
  readonly #listener: CallListener
  readonly #node: string
  readonly #state: Record<string, unknown>
  readonly #processed: () => void

  constructor(listener: CallListener, node: string, state: Record<string, unknown>, processed: () => void) {
    this.#listener = listener
    this.#node = node
    this.#state = state
    this.#processed = processed
  }

  said(message: FromCall): void {
    switch (message.type) {
      case 'emit':
        return this.#listener.emitted(message.outputs, this.#processed)
      case 'note':
        return this.#listener.note(message.note)
      case 'metrics':
        return this.#listener.metrics(message.points)
      case 'artifact':
        return this.#listener.artifact(message.digest)
      default:
        this.#listener.ended(message)
    }
  }

  timedOut(): void {}

  lost(code: ErrorCode, message: string): void {
    const reason = failure(code, `${this.#node}: ${message}`)
    this.#listener.ended({ type: 'threw', failure: reason, state: this.#state, ms: 0 })
  }

  ended(): void {}
}

import type { MessagePort } from 'node:worker_threads'
import type { PlanNode } from '../../core/flow/plan.ts'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'
import { failure } from '../../threads/calls/node-call.ts'
import type { CallGrant, CallOutcome, FromCall, RunIdentity, ToCall } from '../../threads/lane/messages.ts'
import type { CallSink } from './call-sink.ts'

/** A body that is to run away from its lane. */
export interface BodyRequest {
  readonly flow: string
  /** Null for a live node. */
  readonly run: RunIdentity | null
  readonly node: PlanNode
  readonly inputs: Record<string, unknown>
  readonly state: Record<string, unknown>
  /** Null when the node declares no resources. */
  readonly grant: CallGrant | null
  /** For a live node: the port that leads to its lane. */
  readonly port: MessagePort | null
}

/** Why a call ended without an answer of its own. */
export interface Loss {
  readonly code: ErrorCode
  readonly message: string
}

/** Where one call at a time runs: a call slot, a worker process. */
export interface CallPlace {
  /** Hands the call over. `begun` comes first, then what the call says. Throws when the hand-over fails; the place is then unchanged. */
  run(call: BodyCall): void
  /** To the body. */
  tell(message: ToCall): void
  /** Ends the thread or process at once, even while it runs a body. The call's `gone` follows when it has ended. */
  end(): void
}

/** All places of one kind, and the line before them. */
export interface CallPlaces {
  /** Calls `begin` of the call, now or when its turn has come, or `gone` when no place can be had. */
  take(call: BodyCall): void
  /** Takes the call out of the line. */
  drop(call: BodyCall): void
}

export interface BodyCallParts {
  readonly places: CallPlaces
  /** How long a body that was told to end may take; then its place is ended. */
  readonly grace_ms: number
  /** The place of a call has ended: the engine ended it, or it died. */
  placeLost(node: string, code: ErrorCode): void
  /** The call holds nothing any more. Its sink is told next. */
  left(call: BodyCall): void
}

type Mode = 'waiting' | 'running' | 'ending' | 'ended'

const MOVES: Readonly<Record<Mode, readonly Mode[]>> = {
  waiting: ['running', 'ended'],
  running: ['waiting', 'ending', 'ended'],
  ending: ['ended'],
  ended: [],
}

/** The longest that Node's timers take. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * One call of a body away from the lanes, from the wait for a place to its end, wherever it runs.
 *
 *   waiting --a place takes it--> running
 *   waiting --told to end, or there is no place--> ended
 *   running --its place is gone before it began--> waiting, or ended: a lane makes its call again
 *   running --its last word--> ended
 *   running --told to end, past its timeout--> ending: the body is told; after the grace its place is ended
 *   ending --its last word, its place is gone--> ended
 *   running --its place is gone--> ended
 *
 * `kill` skips the grace period. A call ends with the first reason that was given for its end.
 */
export class BodyCall {
  readonly request: BodyRequest
  readonly #parts: BodyCallParts
  readonly #sink: CallSink
  #mode: Mode = 'waiting'
  #place: CallPlace | null = null
  /** The timer of its timeout, then of the grace period. */
  #limit: NodeJS.Timeout | null = null
  /** Why the engine ends it. */
  #why: Loss | null = null

  constructor(parts: BodyCallParts, request: BodyRequest, sink: CallSink) {
    this.#parts = parts
    this.request = request
    this.#sink = sink
  }

  get mode(): Mode {
    return this.#mode
  }

  start(): void {
    this.#parts.places.take(this)
  }

  #move(to: Mode): void {
    if (!MOVES[this.#mode].includes(to)) throw new RangeError(`a call that is ${this.#mode} cannot be ${to}`)
    this.#mode = to
  }

  // ---- for the dispatcher

  tell(message: ToCall): void {
    this.#place?.tell(message)
  }

  /** Tells the body to end; after the grace period its place is ended. A call that still waits ends without a place. */
  end(code: ErrorCode, message: string): void {
    if (this.#why !== null || this.#mode === 'ended') return
    this.#why = { code, message }
    if (this.#mode === 'waiting') this.#leaveLine()
    else this.#endGently(message)
  }

  /** Ends its place at once. */
  kill(code: ErrorCode, message: string): void {
    if (this.#mode === 'ended') return
    const waits = this.#mode === 'waiting' && this.#why === null
    this.#why ??= { code, message }
    if (waits) this.#leaveLine()
    else this.#place?.end()
  }

  /** The end is told in a later turn, as it is for a call that runs. */
  #leaveLine(): void {
    this.#parts.places.drop(this)
    queueMicrotask(() => this.gone(this.#why!))
  }

  #endGently(reason: string): void {
    this.#move('ending')
    if (this.#limit !== null) clearTimeout(this.#limit)
    this.#place!.tell({ type: 'abort', reason })
    this.#limit = setTimeout(() => this.#place?.end(), this.#parts.grace_ms)
  }

  #timedOut(): void {
    if (this.#why !== null) return
    const message = `It ran past its timeout of ${this.request.node.timeout_s} s.`
    this.#why = { code: 'timeout', message }
    this.#sink.timedOut('timeout', message)
    this.#endGently(message)
  }

  // ---- for its place

  /** False: the call could not be handed over and has ended; the place is free. */
  begin(place: CallPlace): boolean {
    this.#move('running')
    this.#place = place
    try {
      place.run(this)
    } catch (error) {
      this.#place = null
      this.gone(notHandedOver(error))
      return false
    }
    return true
  }

  /** From now on its time counts. */
  begun(): void {
    const { timeout_s } = this.request.node
    if (timeout_s === null || this.#mode !== 'running' || this.#limit !== null) return
    this.#limit = setTimeout(() => this.#timedOut(), Math.min(timeout_s * 1000, TIMER_MS_MAX))
  }

  /**
   * Its place is gone before the call began. `here`: place it again; `elsewhere`: the dispatcher makes it again, and this call
   * has ended; `no`: the call was told to end. `last`: the node whose body ran in that place before.
   */
  unbegun(last: string | null): 'here' | 'elsewhere' | 'no' {
    if (this.#mode !== 'running' || this.#why !== null) return 'no'
    this.#parts.placeLost(last ?? this.request.node.qualified, 'thread_lost')
    if (this.#sink.unbegun()) {
      this.#leave()
      this.#sink.ended()
      return 'elsewhere'
    }
    this.#place = null
    this.#move('waiting')
    return 'here'
  }

  said(message: FromCall): void {
    if (this.#mode !== 'ended') this.#sink.said(message)
  }

  /** The call has ended and its place is free. `outcome`: null when it has answered elsewhere. `lost`: why the place ends, too. */
  over(outcome: CallOutcome | null, lost: ErrorCode | null = null): void {
    if (this.#mode === 'ended') return
    this.#leave()
    if (lost !== null) this.#parts.placeLost(this.request.node.qualified, lost)
    if (outcome !== null) this.#sink.said(this.#why === null ? outcome : this.#ended(outcome, this.#why))
    this.#sink.ended()
  }

  /** Its place has ended, or it could not get one. */
  gone(loss: Loss): void {
    if (this.#mode === 'ended') return
    const { code, message } = this.#why ?? loss
    const had_place = this.#place !== null
    this.#leave()
    if (had_place && code !== 'cancelled') this.#parts.placeLost(this.request.node.qualified, code)
    this.#sink.lost(code, message)
    this.#sink.ended()
  }

  #ended({ state, ms }: CallOutcome, { code, message }: Loss): CallOutcome {
    return { type: 'threw', failure: failure(code, `${this.request.node.qualified}: ${message}`), state, ms }
  }

  #leave(): void {
    this.#move('ended')
    this.#place = null
    if (this.#limit !== null) clearTimeout(this.#limit)
    this.#parts.left(this)
  }
}

/** The port's lane is gone, or the values cannot be sent: only this call fails; its place and the calls behind it go on. */
function notHandedOver(error: unknown): Loss {
  if (error instanceof ServiceError) return { code: error.code, message: error.detail }
  const reason = error instanceof Error ? error.message : String(error)
  return { code: 'interrupted', message: `The call could not be handed over: ${reason}.` }
}

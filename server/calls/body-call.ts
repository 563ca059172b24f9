import type { MessagePort } from 'node:worker_threads'
import type { PlanNode } from '../../core/flow/plan.ts'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'
import { failure } from '../../threads/calls/node-call.ts'
import type { CallGrant, CallOutcome, FromCall, RunIdentity, ToCall } from '../../threads/lane/messages.ts'
import type { CallSink } from './call-sink.ts'

/** A body that is to run away from its lane. */
export interface BodyRequest {
  readonly flow: string
  /** Null: of a live node. */
  readonly run: RunIdentity | null
  readonly node: PlanNode
  readonly inputs: Record<string, unknown>
  readonly state: Record<string, unknown>
  /** Null: the node declares nothing. */
  readonly grant: CallGrant | null
  /** Of a live node: leads to its lane. */
  readonly port: MessagePort | null
}

/** Why a call ended without an answer of its own. */
export interface Loss {
  readonly code: ErrorCode
  readonly message: string
}

/** Where one call at a time runs: a call slot, a worker process. */
export interface CallPlace {
  /** Hands the call over; what it says comes later, and `begun` before it. Throws when that is not possible: then the place is as it was before. */
  run(call: BodyCall): void
  /** To the body. */
  tell(message: ToCall): void
  /** Ends the thread or process at once, whatever it does. The call's `gone` follows when it has ended. */
  end(): void
}

/** All places of one kind, and the line before them. */
export interface CallPlaces {
  /** The call gets its place with `begin`, now or when its turn has come, or hears with `gone` that there is none. */
  take(call: BodyCall): void
  /** It stands in line no more. */
  drop(call: BodyCall): void
}

export interface BodyCallParts {
  readonly places: CallPlaces
  /** A body that was told to end has so long before its place is ended. */
  readonly grace_ms: number
  /** The call's place was ended, or ended by itself. */
  placeLost(node: string, code: ErrorCode): void
  /** It holds nothing any more; its sink hears so next. */
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
 * `kill` skips the grace. The first reason to end a call is the one that it ends with.
 */
export class BodyCall {
  readonly request: BodyRequest
  readonly #parts: BodyCallParts
  readonly #sink: CallSink
  #mode: Mode = 'waiting'
  #place: CallPlace | null = null
  /** Of its timeout, then of the grace. */
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

  // ---- what whoever made it does

  tell(message: ToCall): void {
    this.#place?.tell(message)
  }

  /** The body is told; after the grace its place is ended. No place ends for a call that still waits. */
  end(code: ErrorCode, message: string): void {
    if (this.#why !== null || this.#mode === 'ended') return
    this.#why = { code, message }
    if (this.#mode === 'waiting') this.#leaveLine()
    else this.#endGently(message)
  }

  /** Its place is ended at once. */
  kill(code: ErrorCode, message: string): void {
    if (this.#mode === 'ended') return
    const waits = this.#mode === 'waiting' && this.#why === null
    this.#why ??= { code, message }
    if (waits) this.#leaveLine()
    else this.#place?.end()
  }

  /** Whoever ends it hears of it afterwards, as of one that runs. */
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

  // ---- what its place does

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
   * Its place is gone, and has not begun it. `here`: it is to be placed again; `elsewhere`: whoever made it makes it again, and this one
   * has ended; `no`: it was told to end. `last`: the node whose body ran there before.
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

  /** Its last word. Null: it has said it elsewhere. The place is free; with `lost` it ends, and this is why. */
  over(outcome: CallOutcome | null, lost: ErrorCode | null = null): void {
    if (this.#mode === 'ended') return
    this.#leave()
    if (lost !== null) this.#parts.placeLost(this.request.node.qualified, lost)
    if (outcome !== null) this.#sink.said(this.#why === null ? outcome : this.#ended(outcome, this.#why))
    this.#sink.ended()
  }

  /** Its place has ended, or there was none to be had. */
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

/** A port whose lane is gone, values that cannot be sent: this call fails, the place and the calls behind it do not. */
function notHandedOver(error: unknown): Loss {
  if (error instanceof ServiceError) return { code: error.code, message: error.detail }
  const reason = error instanceof Error ? error.message : String(error)
  return { code: 'interrupted', message: `The call could not be handed over: ${reason}.` }
}

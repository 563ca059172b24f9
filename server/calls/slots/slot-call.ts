import type { PlanNode } from '../../../core/flow/plan.ts'
import type { ErrorCode } from '../../../protocol/errors.ts'
import type { CallNode } from '../../../threads/calls/call.ts'
import { failure } from '../../../threads/calls/node-call.ts'
import { type CallTask, makeRoom, type ToSlot } from '../../../threads/calls/slot-messages.ts'
import type { CallOutcome, FromCall, ToCall } from '../../../threads/lane/messages.ts'
import type { CallSink } from '../call-sink.ts'
import type { Slot, SlotTeam, SlotWork } from './slot-team.ts'

export interface SlotCallParts {
  readonly grace_ms: number
  readonly heap_mb: number
  /** A call's thread was ended or died. */
  threadLost(node: string, code: ErrorCode): void
}

/** A call as it goes to a slot. */
export interface SlotRequest extends Omit<CallTask, 'type' | 'node'> {
  readonly node: PlanNode
}

const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * One call of a body in a call slot, from the wait for a slot to its end.
 *
 *   waiting --a slot is there--> running --its last word--> over
 *   waiting --it is told to end--> over
 *   running --it is told to end--> ending --its last word; after the grace its thread is ended--> over
 *   running, ending --its thread is gone--> over
 */
export class SlotCall implements SlotWork {
  readonly #parts: SlotCallParts
  readonly #team: SlotTeam
  readonly #request: SlotRequest
  readonly #sink: CallSink
  readonly #left: () => void
  /** Null while it waits for one. */
  #slot: Slot | null = null
  #limit: NodeJS.Timeout | null = null
  /** Why the front ends it. */
  #why: { code: ErrorCode; message: string } | null = null
  #is_over = false

  /** `left`: it holds nothing any more; its sink hears so next. */
  constructor(parts: SlotCallParts, team: SlotTeam, request: SlotRequest, sink: CallSink, left: () => void) {
    this.#parts = parts
    this.#team = team
    this.#request = request
    this.#sink = sink
    this.#left = left
  }

  get slot(): Slot | null {
    return this.#is_over ? null : this.#slot
  }

  begin(slot: Slot): void {
    this.#slot = slot
    const { call, flow, run, node, key, inputs, state, port } = this.#request
    const task: CallTask = { type: 'call', call, flow, run, node: this.#unknown(slot), key, inputs, state, port }
    slot.port.postMessage(task satisfies ToSlot, port === null ? [] : [port])
    const { timeout_s } = node
    if (timeout_s !== null) this.#limit = setTimeout(() => this.#timedOut(), Math.min(timeout_s * 1000, TIMER_MS_MAX))
  }

  /** What the slot does not know of the node yet. */
  #unknown({ nodes }: Slot): CallNode | null {
    const { node, key } = this.#request
    if (key !== null) {
      if (nodes.has(key)) return null
      makeRoom(nodes)
      nodes.add(key)
    }
    const { id, qualified, settings, digest, change_key, timeout_s, outputs } = node
    return { id, qualified, settings, digest, change_key, timeout_s, outputs }
  }

  tell(message: ToCall): void {
    this.slot?.port.postMessage({ type: 'told', call: this.#request.call, message } satisfies ToSlot)
  }

  /** The body is told; after the grace its thread is ended. No thread ends for one that still waits for a slot. */
  end(code: ErrorCode, message: string): void {
    if (this.#why !== null || this.#is_over) return
    this.#why = { code, message }
    if (this.#slot === null) this.#leaveLine()
    else this.#endGently(message)
  }

  /** At once. */
  kill(code: ErrorCode, message: string): void {
    this.#why = { code, message }
    if (this.#slot === null) this.#leaveLine()
    else this.#slot.end.end()
  }

  /** Whoever ends it hears of it afterwards, as of one that runs. */
  #leaveLine(): void {
    this.#team.drop(this)
    queueMicrotask(() => this.gone(null))
  }

  #timedOut(): void {
    if (this.#why !== null) return
    const message = `It ran past its timeout of ${this.#request.node.timeout_s} s.`
    this.#why = { code: 'timeout', message }
    this.#sink.timedOut('timeout', message)
    this.#endGently(message)
  }

  /** A lane tells the body of its node itself. */
  #endGently(reason: string): void {
    if (this.#limit !== null) clearTimeout(this.#limit)
    if (this.#request.port === null) this.tell({ type: 'abort', reason })
    this.#limit = setTimeout(() => this.#slot!.end.end(), this.#parts.grace_ms)
  }

  said(message: FromCall): void {
    this.#sink.said(message)
  }

  over(outcome: CallOutcome | null): void {
    this.#close()
    if (outcome !== null) this.#sink.said(this.#why === null ? outcome : this.#ended(outcome, this.#why))
    this.#sink.ended()
  }

  #ended({ state, ms }: CallOutcome, why: { code: ErrorCode; message: string }): CallOutcome {
    return { type: 'threw', failure: failure(why.code, `${this.#request.node.qualified}: ${why.message}`), state, ms }
  }

  gone(error: unknown): void {
    if (this.#is_over) return
    this.#close()
    const { code, message } = this.#why ?? this.#lossOf(error)
    if (this.#slot !== null && code !== 'cancelled') this.#parts.threadLost(this.#request.node.qualified, code)
    this.#sink.lost(code, message)
    this.#sink.ended()
  }

  #lossOf(error: unknown): { code: ErrorCode; message: string } {
    if ((error as { code?: string } | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY')
      return { code: 'out_of_memory', message: `Its heap passed ${this.#parts.heap_mb} MiB.` }
    return { code: 'thread_lost', message: error instanceof Error ? error.message : 'Its thread ended.' }
  }

  #close(): void {
    this.#is_over = true
    this.#left()
    if (this.#limit !== null) clearTimeout(this.#limit)
  }
}

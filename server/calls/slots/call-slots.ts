import type { PlanNode } from '../../../core/flow/plan.ts'
import type { ErrorCode } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { CallPlace } from '../../../threads/calls/call.ts'
import type { CallRequest, RunCallRequest } from '../../../threads/lane/messages.ts'
import type { LiveBounds } from '../../lanes/bounds.ts'
import { type CallListener, type CallSink, type LostCall, type RunCall, RunSink } from '../call-sink.ts'
import { SlotCall, type SlotCallParts, type SlotRequest } from './slot-call.ts'
import { SlotTeam } from './slot-team.ts'

export interface CallSlotsOptions extends CallPlace {
  readonly slots: number
  readonly bounds: LiveBounds
  /** A call's thread was ended or died. */
  onThreadLost(node: string, code: ErrorCode): void
}

/**
 * Node calls in call slots. The threads start with the first call. A call that runs past its timeout is told to abort; after a
 * grace its thread is ended. A thread that nears its heap cap is ended before it can take the process with it.
 */
export class CallSlots {
  readonly #options: CallSlotsOptions
  readonly #parts: SlotCallParts
  readonly #calls = new Set<SlotCall>()
  /** Of nodes that batch runs have called. */
  readonly #keys = new WeakMap<PlanNode, number>()
  #team: SlotTeam | null = null
  readonly #retiring = new Set<Promise<void>>()
  #ids = 0

  constructor(options: CallSlotsOptions) {
    this.#options = options
    const { call_grace_ms, call_heap_mb } = options.bounds
    this.#parts = { grace_ms: call_grace_ms, heap_mb: call_heap_mb, threadLost: options.onThreadLost }
  }

  get running(): number {
    return this.#calls.size
  }

  /** A call of a live node: it answers its lane itself. `ended`: its slot is free, or its thread is gone. */
  take({ flow, node, inputs, state, port }: CallRequest, lost: LostCall, ended: () => void): void {
    this.#open(
      { call: ++this.#ids, flow, run: null, node, key: null, inputs, state, port },
      { said() {}, timedOut: lost, lost, ended },
    )
  }

  /** A call of a batch run. */
  run({ flow, run, node, inputs }: RunCallRequest, state: Record<string, unknown>, listener: CallListener): RunCall {
    const sink = new RunSink(listener, node.qualified, state, () => call.tell({ type: 'processed' }))
    const call = this.#open(
      { call: ++this.#ids, flow, run, node, key: this.#keyOf(node), inputs, state, port: null },
      sink,
    )
    return call
  }

  #open(request: SlotRequest, sink: CallSink): SlotCall {
    const team = (this.#team ??= this.#newTeam())
    const call = new SlotCall(this.#parts, team, request, sink, () => this.#calls.delete(call))
    this.#calls.add(call)
    team.take(call)
    return call
  }

  #keyOf(node: PlanNode): number {
    let key = this.#keys.get(node)
    if (key === undefined) this.#keys.set(node, (key = ++this.#ids))
    return key
  }

  /** Ends the threads whose calls near the heap cap; called a few times a second. */
  async watchHeaps(): Promise<void> {
    const { call_heap_mb } = this.#options.bounds
    for (const call of this.#calls) {
      const heap = await call.slot?.worker?.getHeapStatistics().catch(() => null)
      if (!heap || heap.used_heap_size < call_heap_mb * 2 ** 20 * limits.HEAP_END_SHARE) continue
      if (call.slot !== null)
        call.kill('out_of_memory', `It held ${Math.round(heap.used_heap_size / 2 ** 20)} MiB of heap.`)
    }
  }

  /** Calls from now on load their modules anew; those that run finish on the threads that they have. */
  refresh(): void {
    if (this.#team === null) return
    const retired = this.#team.retire().finally(() => this.#retiring.delete(retired))
    this.#retiring.add(retired)
    this.#team = null
  }

  async close(): Promise<void> {
    for (const call of this.#calls) call.kill('interrupted', 'The engine ends.')
    await this.#team?.close()
    await Promise.allSettled(this.#retiring)
  }

  #newTeam(): SlotTeam {
    const { slots, bounds, bodies, artifacts } = this.#options
    return new SlotTeam({ slots, heap_mb: bounds.call_heap_mb, bodies, artifacts })
  }
}

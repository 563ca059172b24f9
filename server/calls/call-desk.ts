import type { PlanNode } from '../../core/flow/plan.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { CallGrant, CallRequest, RunCallRequest } from '../../threads/lane/messages.ts'
import type { LiveBounds } from '../lanes/bounds.ts'
import type { CallListener, LostCall, RunCall } from './call-sink.ts'
import { ProcessCalls, type ProcessCallsParts } from './processes/process-calls.ts'
import type { ProcessDoor } from './processes/process-pool.ts'
import type { WorkerHub } from './processes/worker-hub.ts'
import { CallSlots } from './slots/call-slots.ts'

export interface CallDeskOptions extends Pick<ProcessCallsParts, 'bodies' | 'artifacts' | 'operator' | 'environment'> {
  readonly slots: number
  readonly bounds: LiveBounds
  /** A call's thread or process was ended or died. */
  onLost(node: string, code: ErrorCode, thread: 'call' | 'process'): void
}

/** An environment of its own a node can have in a process alone. */
const wantsProcess = ({ isolation, resources }: PlanNode): boolean =>
  isolation === 'process' || Object.keys(resources.env).length > 0

/** Where a body runs that does not run on its lane: in a call slot, or in a process. */
export class CallDesk {
  readonly #slots: CallSlots
  readonly #processes: ProcessCalls
  /** Of the last run that was claimed; undefined before the first. */
  #code_digest: string | null | undefined = undefined

  constructor({ slots, bounds, bodies, artifacts, operator, environment, onLost }: CallDeskOptions) {
    this.#slots = new CallSlots({
      slots,
      bodies,
      artifacts,
      bounds,
      onThreadLost: (node, code) => onLost(node, code, 'call'),
    })
    this.#processes = new ProcessCalls({
      most: slots,
      grace_ms: bounds.call_grace_ms,
      silent_ms: bounds.node_silent_ms,
      heartbeat_ms: bounds.node_silent_ms / limits.WORKER_HEARTBEATS_IN_SILENCE,
      idle_ms: bounds.process_idle_ms,
      most_idle: bounds.processes_idle,
      memory_mb: bounds.process_memory_mb,
      bodies,
      artifacts,
      operator,
      environment,
      processLost: (node, code) => onLost(node, code, 'process'),
    })
  }

  get hub(): WorkerHub {
    return this.#processes.hub
  }

  /** The engine answers: processes can dial it. */
  open(door: ProcessDoor): void {
    this.#processes.open(door)
  }

  get running(): number {
    return this.#slots.running + this.#processes.running
  }

  /** A call of a live node: it answers its lane itself. `ended`: what ran it is free, or gone. */
  take(request: CallRequest, grant: CallGrant | null, lost: LostCall, ended: () => void): void {
    if (wantsProcess(request.node)) this.#processes.take(request, grant, lost, ended)
    else this.#slots.take(request, lost, ended)
  }

  /** A call of a batch run. */
  run(request: RunCallRequest, state: Record<string, unknown>, listener: CallListener): RunCall {
    if (wantsProcess(request.node)) return this.#processes.run(request, state, listener)
    return this.#slots.run(request, state, listener)
  }

  /** Called a few times a second. */
  watch(): void {
    void this.#slots.watchHeaps()
    this.#processes.watch()
  }

  /** Calls from now on run where nothing was loaded under another code digest. */
  loadUnder(code_digest: string | null): void {
    if (code_digest === this.#code_digest) return
    this.#code_digest = code_digest
    this.refresh()
  }

  /** Calls from now on load their modules anew; those that run finish where they are. */
  refresh(): void {
    this.#slots.refresh()
    this.#processes.refresh()
  }

  /** The front is about to end, and with it the connections of all processes. */
  prepareClose(): void {
    this.#processes.prepareClose()
  }

  async close(): Promise<void> {
    await Promise.all([this.#slots.close(), this.#processes.close()])
  }
}

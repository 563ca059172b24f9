import type { PlanNode } from '../../core/flow/plan.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { CallGrant, CallRequest, RunCallRequest } from '../../threads/lane/messages.ts'
import { BodyCall, type BodyCallParts, type BodyRequest, type CallPlaces } from './body-call.ts'
import type { LiveBounds } from './bounds.ts'
import { type CallListener, type CallSink, LaneSink, type LostCall, type RunCall, RunSink } from './call-sink.ts'
import { ProcessPlaces, type ProcessPlacesParts } from './processes/process-places.ts'
import type { ProcessDoor } from './processes/process-pool.ts'
import type { WorkerHub } from './processes/worker-hub.ts'
import { CallSlots } from './slots/call-slots.ts'

export interface CallDeskOptions
  extends Pick<
    ProcessPlacesParts,
    | 'bodies'
    | 'artifacts'
    | 'operator'
    | 'body_user'
    | 'exchange'
    | 'failed'
    | 'environment'
    | 'now_us'
    | 'secret'
    | 'masks'
  > {
  readonly slots: number
  readonly bounds: LiveBounds
  /** Also print what bodies in call slots print. */
  readonly prints?: boolean
  /** For nodes that the connectors thread runs; absent when there are none. */
  readonly connectors?: { readonly places: CallPlaces; isConnector(type: string): boolean }
  /** The thread or process of a call was ended, or died. */
  onLost(node: string, code: ErrorCode, thread: 'call' | 'process' | 'connectors'): void
}

/** Only a process can have environment variables of its own. */
const wantsProcess = ({ isolation, resources }: PlanNode): boolean =>
  isolation === 'process' || Object.keys(resources.env).length > 0

/** Chooses the kind of place for each body that does not run on its lane, and keeps the calls that have not ended. */
export class CallDesk {
  readonly #options: CallDeskOptions
  readonly #slots: CallSlots
  readonly #processes: ProcessPlaces
  readonly #in_slot: BodyCallParts
  readonly #in_process: BodyCallParts
  readonly #in_connectors: BodyCallParts | null
  /** Slots that only tries have, so that a body which never ends takes none from live calls. */
  readonly #try_slots: CallSlots
  readonly #try_in_slot: BodyCallParts
  readonly #try_in_process: BodyCallParts
  readonly #calls = new Set<BodyCall>()
  /** Code digest of the last run that was claimed; undefined before the first. */
  #code_digest: string | null | undefined = undefined
  #closing = false

  constructor(options: CallDeskOptions) {
    this.#options = options
    const {
      slots,
      bounds,
      bodies,
      artifacts,
      operator,
      body_user,
      environment,
      secret,
      masks,
      prints = false,
    } = options
    const slots_of = {
      heap_mb: bounds.call_heap_mb,
      begin_ms: bounds.slot_begin_ms,
      bodies,
      artifacts,
      masks,
      secret,
    }
    this.#slots = new CallSlots({ ...slots_of, slots, prints })
    this.#try_slots = new CallSlots({ ...slots_of, slots: limits.TRIES })
    this.#processes = new ProcessPlaces({
      most: slots,
      silent_ms: bounds.node_silent_ms,
      heartbeat_ms: bounds.node_silent_ms / limits.WORKER_HEARTBEATS_IN_SILENCE,
      idle_ms: bounds.process_idle_ms,
      most_idle: bounds.processes_idle,
      memory_mb: bounds.process_memory_mb,
      bodies,
      artifacts,
      operator,
      body_user,
      exchange: options.exchange,
      failed: error => options.failed(error),
      environment,
      secret,
      masks,
      now_us: options.now_us,
    })
    this.#in_slot = this.#partsOf(this.#slots, 'call')
    this.#in_process = this.#partsOf(this.#processes, 'process')
    this.#try_in_slot = this.#triedIn(this.#try_slots)
    this.#try_in_process = this.#triedIn(this.#processes)
    this.#in_connectors = options.connectors ? this.#partsOf(options.connectors.places, 'connectors') : null
  }

  get hub(): WorkerHub {
    return this.#processes.hub
  }

  /** The engine listens: processes can connect to it. */
  open(door: ProcessDoor): void {
    this.#processes.open(door)
  }

  /** Calls that wait or run. */
  get running(): number {
    return this.#calls.size
  }

  /** Takes a call of a live node, which answers its lane. `ended` is called when its place is free or gone. */
  take(request: CallRequest, grant: CallGrant | null, lost: LostCall, ended: () => void): RunCall {
    const { flow, node, inputs, state, port } = request
    return this.#open({ flow, run: null, node, inputs, state, grant, port }, new LaneSink(port, lost, ended))
  }

  /** A call of a batch run. */
  run(request: RunCallRequest, state: Record<string, unknown>, listener: CallListener): RunCall {
    const sink = new RunSink(listener, request.node.qualified, state, message => call.tell(message))
    const call = this.#open({ ...request, state, port: null }, sink)
    return call
  }

  /** A call on the side: only the listener hears of it, also when its thread or process is lost. */
  try(request: Omit<BodyRequest, 'run' | 'port'>, listener: CallListener): RunCall {
    const { node, state } = request
    const sink = new RunSink(listener, node.qualified, state, message => call.tell(message))
    const parts = wantsProcess(node) ? this.#try_in_process : this.#try_in_slot
    const call = this.#open({ ...request, run: null, port: null }, sink, parts)
    return call
  }

  #open(request: BodyRequest, sink: CallSink, parts = this.#partsFor(request.node)): BodyCall {
    const call = new BodyCall(parts, request, sink)
    this.#calls.add(call)
    call.start()
    return call
  }

  #partsFor(node: PlanNode): BodyCallParts {
    if (this.#in_connectors !== null && this.#options.connectors!.isConnector(node.type)) return this.#in_connectors
    return wantsProcess(node) ? this.#in_process : this.#in_slot
  }

  #partsOf(places: CallPlaces, thread: 'call' | 'process' | 'connectors'): BodyCallParts {
    const { bounds, onLost } = this.#options
    return {
      places,
      grace_ms: bounds.call_grace_ms,
      placeLost: (node, code) => {
        if (!this.#closing) onLost(node, code, thread)
      },
      left: call => this.#calls.delete(call),
    }
  }

  #triedIn(places: CallPlaces): BodyCallParts {
    return { places, grace_ms: limits.TRY_GRACE_MS, placeLost: () => {}, left: call => this.#calls.delete(call) }
  }

  /** Called a few times a second. */
  watch(): void {
    this.#slots.watch()
    this.#try_slots.watch()
    this.#processes.watch()
  }

  /** Later calls run in threads and processes that have loaded nothing under another code digest. */
  loadUnder(code_digest: string | null): void {
    if (code_digest === this.#code_digest) return
    this.#code_digest = code_digest
    this.refresh()
  }

  /** Later calls load their modules again. Calls that run finish where they are. */
  refresh(): void {
    this.#slots.refresh()
    this.#try_slots.refresh()
    this.#processes.refresh()
  }

  /** Called before the front ends, which ends the connections of all processes. */
  prepareClose(): void {
    this.#processes.prepareClose()
  }

  async close(): Promise<void> {
    this.#closing = true
    for (const call of [...this.#calls]) call.kill('interrupted', 'The engine is stopping.')
    await Promise.all([this.#slots.close(), this.#try_slots.close(), this.#processes.close()])
  }
}

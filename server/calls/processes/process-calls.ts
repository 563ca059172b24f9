import type { MessagePort } from 'node:worker_threads'
import type { PlanNode } from '../../../core/flow/plan.ts'
import type { ErrorCode } from '../../../protocol/errors.ts'
import type { CallGrant, CallRequest, FromCall, RunCallRequest, ToCall } from '../../../threads/lane/messages.ts'
import { type CallListener, type CallSink, type LostCall, type RunCall, RunSink } from '../call-sink.ts'
import { ProcessCall, type ProcessCallParts, type ProcessRequest } from './process-call.ts'
import { type ProcessDoor, ProcessPool } from './process-pool.ts'
import { WorkerHub } from './worker-hub.ts'

export interface ProcessCallsParts {
  /** At once. */
  readonly most: number
  readonly grace_ms: number
  readonly silent_ms: number
  readonly most_idle: number
  readonly idle_ms: number
  readonly heartbeat_ms: number
  /** Of one process. */
  readonly memory_mb: number
  readonly bodies: string
  readonly artifacts: { readonly folder: string; readonly max_bytes: number }
  /** What the engine itself was started with. */
  readonly operator: Readonly<Record<string, string | undefined>>
  /** What is set on top of it for a call. */
  environment(node: PlanNode, grant: CallGrant | null): Record<string, string>
  processLost(node: string, code: ErrorCode): void
}

/** Calls of nodes with `isolation: process`: each in a worker process of the engine's own. */
export class ProcessCalls {
  readonly hub: WorkerHub
  readonly #pool: ProcessPool
  readonly #call: ProcessCallParts
  readonly #calls = new Set<ProcessCall>()
  #closing = false

  constructor(parts: ProcessCallsParts) {
    const now_ms = (): number => performance.now()
    const { most, most_idle, idle_ms, operator } = parts
    const pool = new ProcessPool({ most, most_idle, idle_ms, operator, now_ms })
    this.#pool = pool
    const { folder, max_bytes } = parts.artifacts
    this.hub = new WorkerHub({
      welcome: {
        heartbeat_s: parts.heartbeat_ms / 1000,
        memory_mb: parts.memory_mb,
        place: { bodies: parts.bodies, artifacts: folder, max_artifact_bytes: max_bytes },
      },
      silent_ms: parts.silent_ms,
      now_ms,
      welcomed: worker => pool.welcomed(worker),
    })
    this.#call = {
      grace_ms: parts.grace_ms,
      acquire: ({ flow, node, grant }) => pool.acquire(flow, parts.environment(node, grant)),
      release: process => pool.release(process),
      retire: process => pool.retire(process),
      isClosing: () => this.#closing,
      processLost: (node, code) => parts.processLost(node, code),
    }
  }

  /** The engine answers. */
  open(door: ProcessDoor): void {
    this.#pool.open(door)
  }

  get running(): number {
    return this.#calls.size
  }

  /** A call of a live node: what it says goes to its lane. `ended`: its process is free, or gone. */
  take(request: CallRequest, grant: CallGrant | null, lost: LostCall, ended: () => void): void {
    const { port, flow, node, inputs, state } = request
    const call = this.#open({ flow, run: null, node, inputs, state, grant }, new LaneSink(port, lost), ended)
    port.on('message', (message: ToCall) => {
      if (message.type === 'processed') call.processed()
      else call.end('interrupted', message.reason)
    })
    port.on('close', () => call.end('interrupted', 'Nobody waits for the call any more.'))
    port.unref()
  }

  /** A call of a batch run. */
  run(request: RunCallRequest, state: Record<string, unknown>, listener: CallListener): RunCall {
    const sink = new RunSink(listener, request.node.qualified, state, () => call.processed())
    const call = this.#open({ ...request, state }, sink, () => {})
    return { end: (code, message) => call.end(code, message) }
  }

  refresh(): void {
    this.#pool.refresh()
  }

  /** Called a few times a second. */
  watch(): void {
    const now_ms = performance.now()
    this.hub.watch(now_ms)
    this.#pool.watch(now_ms)
  }

  /** The front is about to end, and every connection with it. */
  prepareClose(): void {
    this.#closing = true
  }

  async close(): Promise<void> {
    this.#closing = true
    for (const call of this.#calls) call.kill('interrupted', 'The engine ends.')
    await this.#pool.close()
  }

  #open(request: ProcessRequest, sink: Omit<CallSink, 'ended'>, ended: () => void): ProcessCall {
    const call: ProcessCall = new ProcessCall(this.#call, request, {
      said: message => sink.said(message),
      timedOut: (code, message) => sink.timedOut(code, message),
      lost: (code, message) => sink.lost(code, message),
      ended: () => {
        this.#calls.delete(call)
        ended()
      },
    })
    this.#calls.add(call)
    return call
  }
}

/** The lane hears of a timeout at once, as it does from a call slot, and of the rest no more. */
class LaneSink implements Omit<CallSink, 'ended'> {
  readonly #port: MessagePort
  readonly #lost: LostCall
  #told = false

  constructor(port: MessagePort, lost: LostCall) {
    this.#port = port
    this.#lost = lost
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
}

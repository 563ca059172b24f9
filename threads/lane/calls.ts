import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Arrival, Execution, Failure } from '../../core/cascade/seat.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { failure } from '../calls/node-call.ts'
import type { NodeState } from '../calls/node-context.ts'
import type { CallRequest, FromCall, LostCode, Note, ToCall } from './messages.ts'
import type { LaneSeat } from './seat.ts'

interface Away {
  readonly flow: FlowRun
  readonly execution: Execution
  readonly port: MessagePort
  /** Why it was aborted. */
  aborted: string | null
}

export interface LaneCallsParts {
  stateOf(seat: LaneSeat): NodeState
  post(request: CallRequest, port: MessagePort): void
  /** The body has been told to end; the front ends it when it ignores that. */
  withdraw(call: number): void
  note(note: Note): void
  executed(execution: Execution, took_ms: number, held_ms: number): void
  /** Resolves when what the execution emitted last has run, as far as it runs inline, and its node may emit again. */
  emitted(flow: FlowRun, execution: Execution): Promise<void>
}

/** Bodies of this lane's flows that run in call slots: their messages go to their flow as arrivals. */
export class LaneCalls {
  readonly #parts: LaneCallsParts
  readonly #away = new Map<number, Away>()
  #ids = 0

  constructor(parts: LaneCallsParts) {
    this.#parts = parts
  }

  dispatch(flow: FlowRun, execution: Execution): void {
    const call = ++this.#ids
    const seat = execution.seat as LaneSeat
    const { port1, port2 } = new MessageChannel()
    const away: Away = { flow, execution, port: port1, aborted: null }
    this.#away.set(call, away)
    port1.on('message', (message: FromCall) => this.#receive(call, message))
    execution.abort = {
      signal: null,
      abort: why => {
        const reason = typeof why === 'string' ? why : 'The node was changed or removed.'
        away.aborted = reason
        port1.postMessage({ type: 'abort', reason } satisfies ToCall)
        this.#parts.withdraw(call)
      },
    }
    const state = this.#parts.stateOf(seat).object
    try {
      this.#parts.post({ call, flow: flow.name, node: seat.node, inputs: execution.inputs, state, port: port2 }, port2)
    } catch (error) {
      // An earlier body wrote something into the state that cannot be sent; the end of the turn refuses it.
      this.#end(call, this.#away.get(call)!, { type: 'threw', error })
    }
  }

  /** The front says that the call ran past its timeout, that its thread is gone, or that no slot took it. A body that still runs is told. */
  lost(call: number, code: LostCode, message: string): void {
    const away = this.#away.get(call)
    if (away === undefined) return
    if (code === 'not_begun') return this.#dispatchAgain(call, away)
    const reason = failure(code, `${away.execution.seat.node.qualified}: ${message}`)
    away.port.postMessage({ type: 'abort', reason: message } satisfies ToCall)
    this.#end(call, away, { type: 'threw', error: new CallFailure(reason) })
  }

  #dispatchAgain(call: number, away: Away): void {
    if (away.aborted !== null) return this.lost(call, 'interrupted', away.aborted)
    this.#away.delete(call)
    away.port.close()
    this.dispatch(away.flow, away.execution)
  }

  #receive(call: number, message: FromCall): void {
    const away = this.#away.get(call)
    if (away === undefined) return
    const { flow, execution, port } = away
    switch (message.type) {
      case 'emit':
        flow.arrive(execution, {
          type: 'emitted',
          outputs: message.outputs,
          processed: () =>
            void this.#parts
              .emitted(flow, execution)
              .then(() => port.postMessage({ type: 'processed' } satisfies ToCall)),
        })
        break
      case 'returned':
        this.#finish(away, message, message.outputs)
        this.#end(call, away, { type: 'returned', value: undefined })
        break
      case 'threw':
        this.#finish(away, message, undefined)
        this.#end(call, away, { type: 'threw', error: new CallFailure(message.failure) })
        break
      case 'note':
        this.#parts.note(message.note)
        break
      case 'metrics':
      case 'lines':
      case 'artifact':
        break
      default:
        message satisfies never
    }
  }

  /**
   * The last emission and the state that goes with it, in one turn of the flow: taken earlier, the state would be marked with
   * the next turn of another flow, before the values that the body published with it.
   */
  #finish(
    { flow, execution }: Away,
    { state, ms, held_ms = ms }: Extract<FromCall, { ms: number }>,
    outputs: unknown,
  ): void {
    flow.arrive(execution, {
      type: 'emitted',
      outputs: outputs ?? {},
      processed: () => {
        this.#takeState(execution, state)
        this.#parts.executed(execution, ms, held_ms)
      },
    })
  }

  #takeState(execution: Execution, object: Record<string, unknown>): void {
    if (!execution.seat.current) return
    const state = this.#parts.stateOf(execution.seat as LaneSeat)
    state.object = object
    state.touched = true
  }

  #end(call: number, away: Away, arrival: Arrival): void {
    this.#away.delete(call)
    away.port.close()
    away.flow.arrive(away.execution, arrival)
  }
}

/** A failure that was made on another thread; carried as it is. */
export class CallFailure extends ServiceError {
  readonly failure: Failure

  constructor(reason: Failure) {
    super(reason.code)
    this.failure = reason
  }
}

import { type MessagePort, parentPort, threadId } from 'node:worker_threads'
import { THREW } from '../core/cascade/host.ts'
import { compileOutputs, type OutputValues } from '../core/cascade/plan-run.ts'
import type { Body } from '../core/cascade/seat.ts'
import type { PlanNode } from '../core/flow/plan.ts'
import { createCodec, newEncoded } from '../protocol/codec.ts'
import { ServiceError } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { encodeState, type KeptState } from './kept-state.ts'
import type { CallRequest, FromCall, ToCall } from './lane-messages.ts'
import { failureOf, loadBody, NodeDoor } from './node-call.ts'
import { type ContextHost, NodeContext, NodeState } from './node-context.ts'

/** One node call in a call slot: a piscina task. */
export interface CallTask extends CallRequest {
  readonly bodies: string
}

/** To the front, when the body is about to start: the limits on the call count from here. */
export interface CallStarted {
  readonly type: 'call_started'
  readonly call: number
  readonly thread: number
}

/** Emissions on their way to the lane before the body is made to wait for it. */
const WINDOW = 64

export default async function call(task: CallTask): Promise<void> {
  const call = new NodeCallTask(task)
  await call.run()
}

class NodeCallTask implements ContextHost {
  readonly #task: CallTask
  readonly #port: MessagePort
  readonly #controller = new AbortController()
  readonly #state: NodeState
  /** The state as it came, since the body writes into the object itself. */
  readonly #before: Buffer
  readonly #check: OutputCheck
  #unprocessed = 0
  #unawaited = 0
  #given_up = false
  #goOn: (() => void)[] = []

  constructor(task: CallTask) {
    this.#task = task
    this.#port = task.port
    this.#state = new NodeState(task.state)
    this.#check = new OutputCheck(task.node)
    this.#before = this.#check.codec.encodePlain({ k: '', s: task.state } satisfies KeptState)
    this.#port.on('message', (message: ToCall) => this.#receive(message))
    this.#port.on('close', () => this.#nobodyListens())
  }

  async run(): Promise<void> {
    const { node, bodies } = this.#task
    const started: CallStarted = { type: 'call_started', call: this.#task.call, thread: threadId }
    parentPort?.postMessage(started)
    const from = performance.now()
    let outputs: unknown
    try {
      const body = await loadBody(bodies, node.digest!, node.qualified)
      outputs = await this.#body(body)
      if (outputs !== undefined && outputs !== null) this.#check.refuse(outputs)
      const state = this.#stateNow()
      if (state instanceof ServiceError) this.#keptNot(outputs, state, from)
      else this.#send({ type: 'returned', outputs, state, ms: performance.now() - from })
    } catch (error) {
      const state = this.#stateNow()
      const kept = state instanceof ServiceError ? this.#stateBefore() : state
      this.#send({ type: 'threw', failure: failureOf(error), state: kept, ms: performance.now() - from })
    } finally {
      this.#port.close()
    }
  }

  async #body(body: Body): Promise<unknown> {
    const door = new NodeDoor()
    const identity = {
      flow: this.#task.flow,
      id: this.#task.node.id,
      qualified: this.#task.node.qualified,
      settings: this.#task.node.settings,
    }
    const result = door.enter(body, this.#task.inputs, new NodeContext(identity, this, this.#state))
    if (result === THREW) throw door.thrown
    const generator = result as AsyncIterator<unknown> | null
    if (typeof generator !== 'object' || generator === null || typeof generator.next !== 'function') return await result
    for (;;) {
      const step = await generator.next()
      if (step.done) return step.value
      await this.emit(step.value)
      if (this.#controller.signal.aborted) {
        await generator.return?.()
        return undefined
      }
    }
  }

  emit(outputs: unknown): Promise<void> {
    this.#check.refuse(outputs)
    if (++this.#unawaited > limits.UNAWAITED_EMITS) {
      throw new ServiceError(
        'emit_overflow',
        `${this.#task.node.qualified} emitted more than ${limits.UNAWAITED_EMITS} times without awaiting.`,
      )
    }
    this.#unprocessed++
    this.#send({ type: 'emit', outputs })
    if (this.#unprocessed < WINDOW) {
      // The turn of the event loop that an await gives is what lets acknowledgements in.
      return new Promise(resolve => setImmediate(() => this.#awaited(resolve)))
    }
    if (this.#given_up) return Promise.resolve()
    return new Promise(resolve => this.#goOn.push(() => this.#awaited(resolve)))
  }

  signal(): AbortSignal {
    return this.#controller.signal
  }

  note(note: Parameters<ContextHost['note']>[0]): void {
    this.#send({ type: 'note', note })
  }

  now_us(): number {
    return Math.floor((performance.timeOrigin + performance.now()) * 1000)
  }

  #awaited(resolve: () => void): void {
    this.#unawaited = 0
    resolve()
  }

  /** The lane has given the call up, or is gone: what the body still emits goes nowhere, and it is not to wait there. */
  #nobodyListens(): void {
    this.#given_up = true
    this.#controller.abort(new ServiceError('interrupted', 'Nobody waits for the call any more.'))
    for (const goOn of this.#goOn.splice(0)) goOn()
  }

  #receive(message: ToCall): void {
    switch (message.type) {
      case 'processed':
        this.#unprocessed--
        this.#goOn.shift()?.()
        break
      case 'abort':
        this.#controller.abort(new ServiceError('interrupted', message.reason))
        break
      default:
        message satisfies never
    }
  }

  /** A copy of what the body wrote, as long as it can be kept: nothing of its getters and traps goes along. */
  #stateNow(): Record<string, unknown> | ServiceError {
    if (!this.#state.touched) return this.#task.state
    const encoded = encodeState(this.#check.codec, { k: '', s: this.#state.object }, this.#task.node.qualified)
    return encoded instanceof ServiceError ? encoded : this.#decoded(encoded)
  }

  #stateBefore(): Record<string, unknown> {
    return this.#decoded(this.#before)
  }

  #decoded(encoded: Buffer): Record<string, unknown> {
    return (this.#check.codec.decodePlain(encoded) as KeptState).s
  }

  /** As on a lane: the outputs are published, the state stays what it was, and the node shows why. */
  #keptNot(outputs: unknown, refusal: ServiceError, from: number): void {
    if (outputs !== undefined && outputs !== null) this.#send({ type: 'emit', outputs })
    const state = this.#stateBefore()
    this.#send({ type: 'threw', failure: failureOf(refusal), state, ms: performance.now() - from })
  }

  #send(message: FromCall): void {
    try {
      this.#port.postMessage(message)
    } catch (error) {
      throw new ServiceError(
        'bad_output',
        `${this.#task.node.qualified}: ${error instanceof Error ? error.message : 'it cannot be sent'}.`,
      )
    }
  }
}

/** The same checks that an inline emission passes, made here so that `ctx.emit` throws where the mistake is. */
class OutputCheck {
  readonly codec = createCodec()
  readonly #node: PlanNode
  readonly #read: ReturnType<typeof compileOutputs>
  readonly #out: OutputValues = { value: [], keys: 0 }
  readonly #scratch = newEncoded()

  constructor(node: PlanNode) {
    this.#node = node
    this.#read = compileOutputs(node)
  }

  refuse(outputs: unknown): void {
    const { qualified } = this.#node
    if (typeof outputs !== 'object' || outputs === null) {
      throw new ServiceError(
        'bad_output',
        `${qualified} answered ${outputs === null ? 'null' : typeof outputs}, not an object of outputs.`,
      )
    }
    const undeclared = this.#read(outputs as Record<string, unknown>, this.#out)
    if (undeclared !== null) {
      throw new ServiceError(
        'undeclared_key',
        `${qualified} answered the key "${undeclared}", which none of its output ports declares.`,
      )
    }
    for (const [at, port] of this.#node.outputs.entries()) {
      if (this.#out.value[at] === undefined) continue
      const refusal = this.codec.encode(this.#out.value[at], port.dtype, this.#scratch)
      if (refusal !== null)
        throw new ServiceError(refusal.code, `Output "${port.port}" of ${qualified}: ${refusal.text}`)
    }
  }
}

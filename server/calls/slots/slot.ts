import type { MessagePort, Worker } from 'node:worker_threads'
import type { CallNode } from '../../../threads/calls/call.ts'
import { addTaken, newTaken } from '../../../threads/calls/send-window.ts'
import { type CallTask, makeRoom, type ToSlot } from '../../../threads/calls/slot-messages.ts'
import type { ToCall } from '../../../threads/lane/messages.ts'
import { TaskEnd } from '../../../threads/pool.ts'
import type { BodyCall, BodyRequest, CallPlace } from '../body-call.ts'

/** The number under which slots know the node of a request; null: it is not to be kept. Unique in the process. */
export type NodeKeys = (request: BodyRequest) => number | null

/** A thread that runs one body at a time, from the front's side. */
export class Slot implements CallPlace {
  readonly port: MessagePort
  readonly end_of_task = new TaskEnd()
  /** Null until it has loaded its modules. */
  worker: Worker | null = null
  /** The id of its thread, which a worker that has ended no longer has; 0 until it is ready. */
  thread = 0
  call: BodyCall | null = null
  readonly taken = newTaken()
  /** Its thread has begun the present call. */
  begun = true
  /** Its thread was ended because it did not begin the present call. */
  stuck = false
  /** The node whose body ran last: what it left behind may keep the thread. */
  last: string | null = null
  #given_ms = 0
  readonly #keyOf: NodeKeys
  /** Keys of the nodes that it knows. */
  readonly #nodes = new Set<number>()
  /** Counts its calls. */
  #number = 0

  constructor(port: MessagePort, keyOf: NodeKeys) {
    this.port = port
    this.#keyOf = keyOf
  }

  /** Throws when the lane of a live node is gone: the port that leads to it is closed then. */
  run({ request }: BodyCall): void {
    const { flow, run, inputs, state, port } = request
    const key = this.#keyOf(request)
    const node = key !== null && this.#nodes.has(key) ? null : callNode(request)
    const task: CallTask = { type: 'call', call: ++this.#number, flow, run, node, key, inputs, state, port }
    this.port.postMessage(task satisfies ToSlot, port === null ? [] : [port])
    this.begun = false
    this.#given_ms = performance.now()
    if (key === null || node === null) return
    makeRoom(this.#nodes)
    this.#nodes.add(key)
  }

  /** A lane tells the body of its node itself. */
  tell(message: ToCall): void {
    // Its thread may be blocked and receive nothing.
    if (message.type === 'taken') return addTaken(this.taken, message.what, message.count)
    if (this.call?.request.port !== null) return
    this.port.postMessage({ type: 'told', call: this.#number, message } satisfies ToSlot)
  }

  /** For how long its thread has not begun the present call. */
  get unbegunMs(): number {
    return this.call === null || this.begun || this.worker === null ? 0 : performance.now() - this.#given_ms
  }

  end(): void {
    this.end_of_task.end()
  }
}

function callNode({ node }: BodyRequest): CallNode {
  const { id, qualified, settings, digest, change_key, timeout_s, outputs } = node
  return { id, qualified, settings, digest, change_key, timeout_s, outputs }
}

import type { MessagePort, Worker } from 'node:worker_threads'
import type { CallNode } from '../../../threads/calls/call.ts'
import { addTaken, newTaken } from '../../../threads/calls/send-window.ts'
import { type CallTask, makeRoom, type ToSlot } from '../../../threads/calls/slot-messages.ts'
import type { ToCall } from '../../../threads/lane/messages.ts'
import { TaskEnd } from '../../../threads/pool.ts'
import type { BodyCall, BodyRequest, CallPlace } from '../body-call.ts'

/** The number under which slots keep the node of a request, unique in the process; null when it is not kept. */
export type NodeKeys = (request: BodyRequest) => number | null

/** The front's side of a thread that runs one body at a time. */
export class Slot implements CallPlace {
  readonly port: MessagePort
  readonly end_of_task = new TaskEnd()
  /** Null until it has loaded its modules. */
  worker: Worker | null = null
  /** The id of its thread; 0 until it is ready. Kept here, since a worker that has ended has none. */
  thread = 0
  call: BodyCall | null = null
  readonly taken = newTaken()
  /** Whether its thread has begun the present call. */
  begun = true
  /** Whether its thread was ended because it did not begin the present call. */
  stuck = false
  /** The node whose body ran last; what it left running may block the thread. */
  last: string | null = null
  #given_ms = 0
  readonly #keyOf: NodeKeys
  /** Keys of the nodes that the thread keeps. */
  readonly #nodes = new Set<number>()
  /** Counts its calls. */
  #number = 0

  constructor(port: MessagePort, keyOf: NodeKeys) {
    this.port = port
    this.#keyOf = keyOf
  }

  /** Throws when the lane of a live node is gone, because the port to it is closed. */
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

  /** For batch runs only: a lane sends to the body of its node directly. */
  tell(message: ToCall): void {
    // The thread may be blocked and receive no message.
    if (message.type === 'taken') return addTaken(this.taken, message.what, message.count)
    if (this.call?.request.port !== null) return
    this.port.postMessage({ type: 'told', call: this.#number, message } satisfies ToSlot)
  }

  /** Milliseconds since the present call was handed over, while its thread has not begun it. */
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

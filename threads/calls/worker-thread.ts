import { type MessagePort, parentPort } from 'node:worker_threads'
import type { FromCall, ToCall } from '../lane/messages.ts'
import { type CallPlace, knownNode, type NodeCall, NodeCallTask } from './call.ts'
import type { CallLine, CallListener } from './call-line.ts'
import type { MetricsTaken } from './metric-window.ts'

/** The worker program to the thread of its bodies. Back come FromCall messages; `returned` and `threw` end a call. */
export type ToWorkerThread = { readonly type: 'call'; readonly call: NodeCall; readonly place: CallPlace } | ToCall

/** The first message to it. */
export interface ThreadStart {
  readonly port: MessagePort
  readonly metrics: MetricsTaken
}

/** To the program's main thread, over a port that bodies cannot reach. */
class ProgramLine implements CallLine {
  readonly #port: MessagePort

  constructor(port: MessagePort) {
    this.#port = port
  }

  send(message: FromCall): void {
    this.#port.postMessage(message)
  }
}

/** The thread of a worker program that runs bodies, one at a time. */
class WorkerThread {
  readonly #port: MessagePort
  readonly #metrics: MetricsTaken
  #listener: CallListener | null = null

  constructor({ port, metrics }: ThreadStart) {
    this.#port = port
    this.#metrics = metrics
    port.on('message', (message: ToWorkerThread) => {
      if (message.type === 'call') void this.#run(message.call, message.place)
      else this.#listener?.receive(message)
    })
  }

  async #run(task: NodeCall, place: CallPlace): Promise<void> {
    const call = new NodeCallTask(task, knownNode(task.node), { ...place, metrics: this.#metrics }, listener => {
      this.#listener = listener
      return new ProgramLine(this.#port)
    })
    const outcome = await call.run()
    this.#listener = null
    this.#port.postMessage(outcome satisfies FromCall)
  }
}

// The first message brings the port: a body that is loaded later finds nothing on parentPort.
parentPort?.once('message', (start: ThreadStart) => new WorkerThread(start))

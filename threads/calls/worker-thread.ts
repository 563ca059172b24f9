import { type MessagePort, parentPort } from 'node:worker_threads'
import type { LogLevel } from '../../protocol/nouns/run-log.ts'
import type { FromCall, ToCall } from '../lane/messages.ts'
import { type CallPlace, knownNode, type NodeCall, NodeCallTask } from './call.ts'
import type { CallLine, CallListener } from './call-line.ts'
import { PrintedOutput, type PrintTarget } from './printed/output.ts'
import type { Taken } from './send-window.ts'

/** The worker program to the thread of its bodies. Back come FromCall messages; `returned` and `threw` end a call. */
export type ToWorkerThread = { readonly type: 'call'; readonly call: NodeCall; readonly place: CallPlace } | ToCall

/** The first message to it. */
export interface ThreadStart {
  readonly port: MessagePort
  readonly taken: Taken
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
class WorkerThread implements PrintTarget {
  readonly #port: MessagePort
  readonly #taken: Taken
  readonly #printed: PrintedOutput
  #listener: CallListener | null = null
  /** What runs. */
  #task: NodeCallTask | null = null

  constructor({ port, taken }: ThreadStart) {
    this.#port = port
    this.#taken = taken
    this.#printed = new PrintedOutput(this, false)
    port.on('message', (message: ToWorkerThread) => {
      if (message.type === 'call') void this.#run(message.call, message.place)
      else this.#listener?.receive(message)
    })
  }

  printed(line: string, level: LogLevel): boolean {
    return this.#task?.printed(line, level) ?? false
  }

  async #run(task: NodeCall, place: CallPlace): Promise<void> {
    const here = { ...place, taken: this.#taken, ended: () => this.#printed.flush() }
    const call = new NodeCallTask(task, knownNode(task.node), here, listener => {
      this.#listener = listener
      return new ProgramLine(this.#port)
    })
    this.#task = call
    const outcome = await call.run()
    this.#task = null
    this.#listener = null
    this.#port.postMessage(outcome satisfies FromCall)
  }
}

// The first message brings the port: a body that is loaded later finds nothing on parentPort.
parentPort?.once('message', (start: ThreadStart) => new WorkerThread(start))

import type { MessagePort } from 'node:worker_threads'
import type { FromCall, ToCall } from '../lane/messages.ts'

/** Where a call sends what happens; what it is told comes to its listener. */
export interface CallLine {
  send(message: FromCall): void
}

export interface CallListener {
  receive(message: ToCall): void
  /** The call was withdrawn: its flow or its run has ended. */
  closed(): void
}

/** To the lane that a live node belongs to, over a port that goes with the call. The end of the call goes the same way. */
export class LaneLine implements CallLine {
  readonly #port: MessagePort

  constructor(port: MessagePort, listener: CallListener) {
    this.#port = port
    port.on('message', (message: ToCall) => listener.receive(message))
    port.on('close', () => listener.closed())
  }

  send(message: FromCall): void {
    this.#port.postMessage(message)
  }
}

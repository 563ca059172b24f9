import { MessageChannel, type MessagePort, parentPort, threadId } from 'node:worker_threads'
import type { FromCall, FromSlot, ToCall, ToSlot } from './lane-messages.ts'

/** Where a call in a slot sends what happens, and from where it is told to go on or to stop. */
export interface CallLine {
  send(message: FromCall): void
  /** Messages so far. */
  readonly sent: number
  /** The body has ended; what is still said to it is not heard. */
  close(): void
}

export interface CallListener {
  receive(message: ToCall): void
  /** Nobody waits for the call any more. */
  closed(): void
}

/** To the lane that a live node belongs to, over a port that goes with the call. */
export class LaneLine implements CallLine {
  readonly #port: MessagePort
  sent = 0

  constructor(port: MessagePort, listener: CallListener) {
    this.#port = port
    port.on('message', (message: ToCall) => listener.receive(message))
    port.on('close', () => listener.closed())
  }

  send(message: FromCall): void {
    this.#port.postMessage(message)
    this.sent++
  }

  /** The port stays: the end of the call goes the same way. */
  close(): void {}
}

/** This thread's end of the line to the front that all its calls of batch runs share: a port for each would cost more than a short body. */
class FrontEnd {
  #port: MessagePort | null = null
  #call = 0
  #listener: CallListener | null = null

  open(call: number, listener: CallListener): void {
    this.#call = call
    this.#listener = listener
    if (this.#port !== null) return
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.on('message', ({ call, message }: ToSlot) => {
      if (call === this.#call) this.#listener?.receive(message)
    })
    parentPort!.postMessage({ type: 'line', thread: threadId, port: port2 } satisfies FromSlot, [port2])
  }

  close(): void {
    this.#listener = null
  }
}

const front_end = new FrontEnd()

/** To the front, which runs batch runs. */
export class FrontLine implements CallLine {
  readonly #call: number
  sent = 0

  constructor(call: number, listener: CallListener) {
    this.#call = call
    front_end.open(call, listener)
  }

  send(message: FromCall): void {
    parentPort!.postMessage({ type: 'call', call: this.#call, message } satisfies FromSlot)
    this.sent++
  }

  close(): void {
    front_end.close()
  }
}

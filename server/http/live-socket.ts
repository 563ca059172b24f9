import type { Admission } from '../auth/gatekeeper.ts'
import type { Caller, WorkerPrincipal } from '../auth/principal.ts'
import type { Socket } from './socket.ts'

/** What a socket needs of the socket library. */
export interface SocketChannel {
  send(message: string | Uint8Array, isBinary?: boolean): number
  subscribe(topic: string): boolean
  unsubscribe(topic: string): boolean
  getBufferedAmount(): number
  cork(work: () => void): unknown
  end(code?: number, reason?: string): void
}

const SENT = 1
const QUEUED = 0

/** A websocket of the library behind the `Socket` interface: calls after its end do nothing, where the library would throw. */
export class LiveSocket implements Socket {
  readonly id: number
  readonly caller: Caller | WorkerPrincipal
  readonly #admission: Admission<Caller | WorkerPrincipal>
  #channel: SocketChannel | null = null

  constructor(id: number, admission: Admission<Caller | WorkerPrincipal>) {
    this.id = id
    this.caller = admission.principal
    this.#admission = admission
  }

  /** Whether the token that it was opened with is still valid. */
  get isAdmitted(): boolean {
    return this.#admission.holds()
  }

  /** The library opened it. */
  attach(channel: SocketChannel): void {
    this.#channel = channel
  }

  /** The library closed it. */
  detach(): void {
    this.#channel = null
  }

  get isOpen(): boolean {
    return this.#channel !== null
  }

  send(text: string | Uint8Array): 'sent' | 'queued' | 'dropped' {
    return this.#send(text, false)
  }

  sendBinary(bytes: Uint8Array): 'sent' | 'queued' | 'dropped' {
    return this.#send(bytes, true)
  }

  #send(message: string | Uint8Array, isBinary: boolean): 'sent' | 'queued' | 'dropped' {
    const result = this.#channel?.send(message, isBinary)
    return result === SENT ? 'sent' : result === QUEUED ? 'queued' : 'dropped'
  }

  subscribe(topic: string): boolean {
    return this.#channel?.subscribe(topic) ?? false
  }

  unsubscribe(topic: string): boolean {
    return this.#channel?.unsubscribe(topic) ?? false
  }

  bufferedAmount(): number {
    return this.#channel?.getBufferedAmount() ?? 0
  }

  cork(work: () => void): void {
    this.#channel?.cork(work)
  }

  end(code: number, reason: string): void {
    // A close frame carries at most 123 bytes of reason.
    this.#channel?.end(
      code,
      Buffer.from(reason)
        .subarray(0, 123)
        .toString('utf8')
        .replace(/\ufffd+$/, ''),
    )
  }
}

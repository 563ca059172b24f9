import type { Admissions } from '../auth/gatekeeper.ts'
import type { Caller, SocketWho, WorkerPrincipal } from '../auth/principal.ts'

/**
 * A websocket for the handlers of a path, so that only `front.ts` knows the socket library. All calls happen
 * on the front thread. A closed socket answers `dropped`, 0 or false to everything; nothing here ever throws.
 */
export interface Socket {
  /** Counts up from 1 for each front; never reused. */
  readonly id: number
  /** Who signed in, as checked during the upgrade. */
  readonly caller: Caller | WorkerPrincipal
  /** False from the moment it closes, also inside the `close` handler. */
  readonly isOpen: boolean
  /**
   * `sent`: written to the kernel. `queued`: kept whole in the socket's own buffer (back pressure). `dropped`: not kept at
   * all, because the buffer stood over `limits.SOCKET_BACKPRESSURE_BYTES` or the socket is closed.
   */
  send(text: string | Uint8Array): 'sent' | 'queued' | 'dropped'
  sendBinary(bytes: Uint8Array): 'sent' | 'queued' | 'dropped'
  /** From now on `front.publish(topic, …)` reaches this socket too. False when it is closed. */
  subscribe(topic: string): boolean
  unsubscribe(topic: string): boolean
  /** Bytes that wait in this socket's own buffer. */
  bufferedAmount(): number
  /** Runs several sends as one write. */
  cork(work: () => void): void
  /** Sends a close frame (code 1000, 1001, 1007..1013, or 4000..4999) and ends. */
  end(code: number, reason: string): void
}

/**
 * One websocket path. The front has checked the token, the origin and the number of sockets before `open`. A handler that
 * throws ends its socket with 1011; the others go on.
 */
interface SocketPath {
  /** An exact path, such as `/ws/flows`. */
  readonly path: string
  readonly who: SocketWho
  open(socket: Socket): void
  /** The socket's own buffer shrank; `bufferedAmount()` says to what. */
  drain(socket: Socket): void
  /** Called exactly once for every `open`, also when the front closes. */
  close(socket: Socket): void
}

export interface TextSocketHandlers extends SocketPath {
  readonly frames: 'text'
  /** One text frame of at most `limits.SOCKET_FRAME_BYTES`, valid UTF-8. A binary frame ends the socket with 1003. */
  message(socket: Socket, text: string): void
}

export interface BinarySocketHandlers extends SocketPath {
  readonly frames: 'binary'
  /** Of the largest frame; a larger one ends the socket. */
  readonly frame_bytes: number
  /** Checks tokens in place of the front, only at the upgrade. The handlers of the path must close sockets whose tokens end. */
  readonly admissions: Admissions<Caller | WorkerPrincipal>
  /** One binary frame; the bytes are there only until this returns. A text frame ends the socket with 1003. */
  message(socket: Socket, bytes: Uint8Array): void
}

export type SocketHandlers = TextSocketHandlers | BinarySocketHandlers

/** What fan-out uses of the front. */
export interface Publisher {
  /** Sends one text to every socket subscribed to `topic`. False when nobody is. The text is copied before it returns. */
  publish(topic: string, text: string | Uint8Array): boolean
  /** Sends one binary frame to every socket subscribed to `topic`. */
  publishBinary(topic: string, bytes: Uint8Array): boolean
  subscribers(topic: string): number
}

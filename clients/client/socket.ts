/** A websocket as the client uses one: the part that Node and browsers do differently. Both are in platform/. */

export interface Address {
  readonly url: string
  readonly token: string | null
}

/** What a connection tells, in this order: `opened` or `refused`, frames, and `closed` in every case, once. */
export interface SocketListener {
  opened(): void
  text(text: string): void
  binary(bytes: Uint8Array): void
  /** It was never open. The status of the answer; null when there was none, and `reason` says why. */
  refused(status: number | null, reason: unknown): void
  closed(): void
}

export interface Socket {
  send(text: string): void
  /** At once, without a word to the other end. */
  close(): void
}

export type OpenSocket = (address: Address, path: string, protocol: string, listener: SocketListener) => Socket

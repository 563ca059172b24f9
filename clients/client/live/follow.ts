import { ClientError } from '../client-error.ts'
import { LiveSocket, type LiveSocketOptions } from './live-socket.ts'

/**
 * Yields what a websocket brings, until the caller stops or `signal` is aborted; throws what ends the socket. `take` removes the next
 * item that waits, or answers undefined; `listen` is told whom to wake when an item has come.
 */
export async function* follow<Item>(
  listen: (wake: () => void) => Omit<LiveSocketOptions, 'onNotice' | 'onFailure'>,
  take: () => Item | undefined,
  signal?: AbortSignal,
): AsyncGenerator<Item, void, undefined> {
  let change = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  const abort = (): void => ended.reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  const socket = new LiveSocket({
    ...listen(() => change.resolve()),
    onNotice: text => ended.reject(new ClientError('refused', text)),
    onFailure: ended.reject,
  })
  try {
    signal?.throwIfAborted()
    for (;;) {
      await Promise.race([ended.promise, change.promise])
      change = Promise.withResolvers<void>()
      for (let next = take(); next !== undefined; next = take()) yield next
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    socket.close()
  }
}

import { ClientError } from '../client-error.ts'
import type { Address } from '../socket.ts'
import { LiveSocket } from './live-socket.ts'
import { unpackPlain } from './msgpack.ts'

/** The bytes behind a value of a message. */
export interface MediaFrame {
  /** Of the message: `<flow>.<message>`. */
  readonly name: string
  readonly version: number
  /** `sha256:<64 hex digits>` */
  readonly digest: string
  readonly media_type: string
  readonly meta: Record<string, unknown> | null
  readonly bytes: Uint8Array
}

const LENGTH_BYTES = 4

/** docs/sockets.md has the form. */
function mediaFrameOf(data: Uint8Array): MediaFrame {
  const header = new DataView(data.buffer, data.byteOffset, data.byteLength).getUint32(0)
  const end = LENGTH_BYTES + header
  const { name, version, digest, media_type, meta } = unpackPlain(data.subarray(LENGTH_BYTES, end)) as MediaFrame
  return { name, version, digest, media_type, meta, bytes: data.subarray(end) }
}

/**
 * Frames as they come, until whoever asks stops. Of each name only the newest one waits: who is slow misses frames, and never gets an older
 * one after a newer one.
 */
export async function* followMedia(
  address: Address,
  names: readonly string[],
  signal?: AbortSignal,
): AsyncGenerator<MediaFrame, void, undefined> {
  const waiting = new Map<string, MediaFrame>()
  /** Of each name, what came last. */
  const newest = new Map<string, { version: number; digest: string }>()
  let change = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  const abort = (): void => ended.reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  const socket = new LiveSocket({
    find: () => address,
    media: names,
    onFrame: data => {
      const frame = mediaFrameOf(data)
      const { name, version, digest } = frame
      const before = newest.get(name)
      // After a reconnect the engine sends the present frame, which may be here.
      if (before?.version === version && before.digest === digest) return
      newest.set(name, { version, digest })
      waiting.set(frame.name, frame)
      change.resolve()
    },
    onNotice: text => ended.reject(new ClientError('refused', text)),
    onFailure: ended.reject,
  })
  try {
    signal?.throwIfAborted()
    for (;;) {
      await Promise.race([ended.promise, change.promise])
      change = Promise.withResolvers<void>()
      for (let next = takeFirst(waiting); next !== null; next = takeFirst(waiting)) yield next
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    socket.close()
  }
}

function takeFirst(waiting: Map<string, MediaFrame>): MediaFrame | null {
  for (const [name, frame] of waiting) {
    waiting.delete(name)
    return frame
  }
  return null
}

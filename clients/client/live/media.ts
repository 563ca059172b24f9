import type { Address } from '../socket.ts'
import { follow } from './follow.ts'
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

/** Of a binary frame; docs/sockets.md has the form. */
export function mediaFrameOf(data: Uint8Array): MediaFrame {
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
  yield* follow(
    wake => ({
      find: () => address,
      media: names,
      onFrame: data => {
        const frame = mediaFrameOf(data)
        const { name, version, digest } = frame
        const before = newest.get(name)
        // After a reconnect the engine sends the present frame, which may be here.
        if (before?.version === version && before.digest === digest) return
        newest.set(name, { version, digest })
        waiting.set(name, frame)
        wake()
      },
    }),
    () => takeFirst(waiting),
    signal,
  )
}

function takeFirst(waiting: Map<string, MediaFrame>): MediaFrame | undefined {
  for (const [name, frame] of waiting) {
    waiting.delete(name)
    return frame
  }
  return undefined
}

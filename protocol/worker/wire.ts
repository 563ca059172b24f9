import { Packr, Unpackr } from 'msgpackr'
import { ServiceError } from '../errors.ts'
import { limits } from '../limits.ts'
import { refuseUnlessPlain } from '../values/msgpack-scan.ts'
import { msgpackSettings } from '../values/msgpack-settings.ts'

/** Worker frames as bytes. Apart from their schemas, which a worker process would load for longer than a short body runs. */
export const WORKER_PROTOCOL = 2
export const WORKER_PATH = '/workers/attach'

const packr = new Packr(msgpackSettings)
const unpackr = new Unpackr(msgpackSettings)

/** A frame of `frames.ts`, in a buffer of its own. Integers beyond 32 bits travel as doubles. */
export function encodeFrame<Frame extends { readonly t: string }>(frame: Frame): Buffer {
  return Buffer.from(packr.pack(frame))
}

/** Any frame, of which nothing but its form is checked; keeps nothing of the bytes. Throws `too_large` or `bad_worker_frame`. */
export function readFrame(bytes: Uint8Array): { readonly t: unknown } {
  if (bytes.length > limits.WORKER_FRAME_BYTES)
    throw new ServiceError('too_large', `A worker frame has at most ${limits.WORKER_FRAME_BYTES} bytes.`)
  const found = refuseUnlessPlain(bytes, limits.WORKER_FRAME_DEPTH)
  if (found !== null) throw new ServiceError('bad_worker_frame', `The frame is not a plain msgpack value: ${found}.`)
  const frame: unknown = unpackr.unpack(bytes)
  if (typeof frame === 'object' && frame !== null && Object.hasOwn(frame, 't')) return frame as { t: unknown }
  throw new ServiceError('bad_worker_frame', 'The frame is not a map with a type "t".')
}

import { Packr, Unpackr } from 'msgpackr'
import { limits } from '../limits.ts'
import { describe } from './describe.ts'
import type { Dtype } from './dtype.ts'
import { type EncodedValue, KIND } from './encoded.ts'
import { Budget, type Refusal, refuseUnlessJson, wellFormed } from './json-like.ts'
import { msgpackSettings } from './msgpack-settings.ts'

/**
 * The one way from a JavaScript value to bytes and back: messages (`encode`, `decode`) and plain data of the engine's own
 * (`encodePlain`, `decodePlain`: node state, notes, carried work).
 *
 *   bool int float   -> a double in `number`; nothing is allocated
 *   str              -> UTF-8; a lone half of a surrogate pair becomes U+FFFD
 *   json, references -> msgpack; null has a kind of its own and no bytes
 *
 * -0 inside json comes back as 0, as it does through JSON.stringify; as a float it stays -0.
 */
export interface Codec {
  /** Checks the value against the dtype and writes it to `out`, whose `bytes` may be replaced by a larger buffer. Null when it went well. */
  encode(value: unknown, dtype: Dtype, out: EncodedValue): CodecRefusal | null
  /** The value of an encoding that `encode` made; never a Map, BigInt or Date. `bytes` may lie in shared memory. */
  decode(kind: number, number: number, bytes: Buffer, at: number, length: number): unknown
  /** May `encodePlain` take it? */
  checkPlain(value: unknown): CodecRefusal | null
  encodePlain(value: unknown): Buffer
  decodePlain(bytes: Uint8Array): unknown
}

export type CodecRefusal = Refusal

export const newEncoded = (): EncodedValue => ({ kind: KIND.none, number: 0, bytes: Buffer.alloc(4096), length: 0 })

const DIGEST = /^sha256:[0-9a-f]{64}$/

/** What Node's toString and write call for UTF-8; its types leave them out. */
interface Utf8Buffer extends Buffer {
  utf8Slice(start: number, end: number): string
  utf8Write(text: string, at: number): number
}

export function createCodec(): Codec {
  return new MessageCodec()
}

class MessageCodec implements Codec {
  readonly #packr = new Packr(msgpackSettings)
  readonly #unpackr = new Unpackr(msgpackSettings)
  readonly #budget = new Budget(limits.MESSAGE_VALUE_BYTES)
  readonly #plain = new Budget(Number.POSITIVE_INFINITY)
  readonly #range = { start: 0, end: 0 }

  encode(value: unknown, dtype: Dtype, out: EncodedValue): CodecRefusal | null {
    switch (dtype) {
      case 'float':
        if (typeof value !== 'number') return wrong(dtype, value)
        if (!Number.isFinite(value)) return { code: 'not_finite', text: `expected a finite number, got ${value}` }
        out.kind = KIND.float
        out.number = value
        out.length = 8
        return null
      case 'int':
        if (typeof value !== 'number') return wrong(dtype, value)
        if (!Number.isSafeInteger(value)) return notInteger(value)
        out.kind = KIND.int
        out.number = value + 0
        out.length = 8
        return null
      case 'bool':
        if (typeof value !== 'boolean') return wrong(dtype, value)
        out.kind = KIND.bool
        out.number = value ? 1 : 0
        out.length = 8
        return null
      case 'str':
        return typeof value === 'string' ? encodeText(value, out) : wrong(dtype, value)
      case 'json':
        return this.#encodeJson(value, out)
      default:
        return refuseReference(value, dtype) ?? this.#encodeJson(value, out)
    }
  }

  decode(kind: number, number: number, bytes: Buffer, at: number, length: number): unknown {
    switch (kind) {
      case KIND.float:
      case KIND.int:
        return number
      case KIND.bool:
        return number !== 0
      case KIND.str:
        return (bytes as Utf8Buffer).utf8Slice(at, at + length)
      case KIND.json:
        this.#range.start = at
        this.#range.end = at + length
        return this.#unpackr.unpack(bytes, this.#range)
      default:
        return null
    }
  }

  checkPlain(value: unknown): CodecRefusal | null {
    return refuseUnlessJson(value, this.#plain.reset())
  }

  encodePlain(value: unknown): Buffer {
    return encodePlain(value)
  }

  decodePlain(bytes: Uint8Array): unknown {
    return decodePlain(bytes)
  }

  #encodeJson(value: unknown, out: EncodedValue): CodecRefusal | null {
    if (value === null) {
      out.kind = KIND.null
      out.number = 0
      out.length = 0
      return null
    }
    const budget = this.#budget.reset()
    const refusal = refuseUnlessJson(value, budget)
    if (refusal !== null) return refusal
    const packed = this.#packr.pack(budget.well_formed ? value : wellFormed(value))
    if (packed.length > limits.MESSAGE_VALUE_BYTES) return tooLarge(packed.length)
    grow(out, packed.length)
    packed.copy(out.bytes)
    out.kind = KIND.json
    out.number = 0
    out.length = packed.length
    return null
  }
}

const plainPackr = new Packr(msgpackSettings)

/** Packs plain data of the engine's own into a buffer that the caller keeps. */
export function encodePlain(value: unknown): Buffer {
  return Buffer.from(plainPackr.pack(value))
}

export function decodePlain(bytes: Uint8Array): unknown {
  return plainPackr.unpack(bytes)
}

function encodeText(value: string, out: EncodedValue): CodecRefusal | null {
  // A UTF-16 unit takes at most three bytes: the size is counted only where it might not fit.
  if (value.length * 3 > out.bytes.length) {
    if (value.length > limits.MESSAGE_VALUE_BYTES) return tooLarge(value.length)
    const length = Buffer.byteLength(value)
    if (length > limits.MESSAGE_VALUE_BYTES) return tooLarge(length)
    grow(out, length)
  }
  out.length = (out.bytes as Utf8Buffer).utf8Write(value, 0)
  out.kind = KIND.str
  out.number = 0
  return null
}

/** The scratch doubles, so a thread that once carried a large value keeps at most twice the largest. */
function grow(out: EncodedValue, length: number): void {
  if (length <= out.bytes.length) return
  let size = Math.max(out.bytes.length, 4096)
  while (size < length) size *= 2
  out.bytes = Buffer.allocUnsafeSlow(size)
}

function refuseReference(value: unknown, dtype: Dtype): CodecRefusal | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(dtype, value)
  const { digest, media_type, meta } = value as Record<string, unknown>
  if (typeof digest !== 'string' || !DIGEST.test(digest))
    return refuse(`expected a reference whose digest is "sha256:" and 64 hex digits, got ${describe(digest)}`)
  if (typeof media_type !== 'string' || media_type.length === 0 || media_type.length > 127)
    return refuse(`expected a reference with a media_type of 1 to 127 characters, got ${describe(media_type)}`)
  if (dtype !== 'artifact' && !media_type.startsWith(`${dtype}/`))
    return refuse(`expected a media_type that starts with "${dtype}/", got ${describe(media_type)}`)
  if (meta !== undefined && (typeof meta !== 'object' || meta === null || Array.isArray(meta)))
    return refuse(`expected meta to be an object, got ${describe(meta)}`)
  return null
}

const EXPECTED: Readonly<Record<Dtype, string>> = {
  bool: 'true or false',
  int: 'an integer',
  float: 'a finite number',
  str: 'a string',
  json: 'JSON',
  image: 'a reference to an image',
  audio: 'a reference to audio',
  video: 'a reference to a video',
  artifact: 'a reference to an artifact',
}

const refuse = (text: string): CodecRefusal => ({ code: 'wrong_dtype', text })
const wrong = (dtype: Dtype, value: unknown): CodecRefusal =>
  refuse(`expected ${EXPECTED[dtype]} (${dtype}), got ${describe(value)}`)

function notInteger(value: number): CodecRefusal {
  if (!Number.isFinite(value)) return { code: 'not_finite', text: `expected an integer (int), got ${value}` }
  const why = Number.isInteger(value) ? 'beyond 2^53, where integers are no longer exact' : 'not a whole number'
  return refuse(`expected an integer (int), got ${value}, ${why}`)
}

const tooLarge = (bytes: number): CodecRefusal => ({
  code: 'value_too_large',
  text: `the value takes ${bytes} bytes or more; at most ${limits.MESSAGE_VALUE_BYTES} are allowed`,
})

import { Packed } from '../../core/cascade/plan-run.ts'
import type { PlanNode } from '../../core/flow/plan.ts'
import type { Masks } from '../../core/masks/table.ts'
import { itemDigest, type Sha256 } from '../../core/runs/fingerprint.ts'
import type { Steps } from '../../core/steps.ts'
import { type Codec, type CodecRefusal, newEncoded } from '../../protocol/values/codec.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { type EncodedValue, KIND } from '../../protocol/values/encoded.ts'

/** A long value that is encoded already. It replaces the value in the outputs of a body and is given to readers as it is. */
class LongValue extends Packed {
  readonly dtype: Dtype
  /** Shared by all readers, since bodies get copies of it in messages. */
  readonly decoded: unknown
  /** Null for values of the stage cache, whose digests are stored. */
  readonly digest: string | null
  /** The value with its secrets masked, for the record. */
  readonly masked: unknown

  constructor(dtype: Dtype, kind: number, bytes: Buffer, made: Pick<LongValue, 'decoded' | 'digest' | 'masked'>) {
    super(kind, bytes)
    this.dtype = dtype
    this.decoded = made.decoded
    this.digest = made.digest
    this.masked = made.masked
  }
}

/** From about this many bytes a value is long: preparing it takes the front half a millisecond. */
const LONG = 16 * 1024
/** Bytes that each part of a value counts besides its text. */
const PART = 8

/**
 * The codec of a run. A value of 1 MiB takes the front 40 ms to encode, decode and digest, and 4 ms to decode for each reader. So the
 * long values of a body are prepared once, in steps, before the wave takes its outputs.
 *
 *   ready (in steps) -> encode: only notes the scratch -> take: the long value of the scratch
 */
export class LongValues implements Codec {
  readonly #codec: Codec
  readonly #sha256: Sha256
  readonly #masks: Masks
  /** The long value that a scratch stands for. */
  readonly #encoded = new Map<EncodedValue, LongValue>()

  constructor(codec: Codec, sha256: Sha256, masks: Masks) {
    this.#codec = codec
    this.#sha256 = sha256
    this.#masks = masks
  }

  /** The outputs with their long values prepared, and digested if `digested`. A value that its port refuses is left to the wave, which reports it. */
  *ready({ outputs: ports }: PlanNode, outputs: object, digested: boolean): Steps<object> {
    const ready: Record<string, unknown> = { ...outputs }
    for (const { port, dtype } of ports) {
      const value = ready[port]
      if (!isLong(value)) continue
      const into = newEncoded()
      if (this.#codec.encode(value, dtype, into) !== null) continue
      yield
      const { kind, bytes, length } = into
      const decoded = this.#codec.decode(kind, 0, bytes, 0, length)
      yield
      const digest = digested ? yield* digestSteps(decoded, this.#sha256) : null
      yield
      const masked = yield* this.#masks.deepSteps(decoded)
      yield
      ready[port] = new LongValue(dtype, kind, bytes.subarray(0, length), { decoded, digest, masked })
    }
    return ready
  }

  /** Takes the long value that was encoded into the scratch, if there is one. */
  take(encoded: EncodedValue): Pick<LongValue, 'decoded' | 'digest' | 'masked'> | null {
    const found = this.#encoded.get(encoded) ?? null
    if (found !== null) this.#encoded.delete(encoded)
    return found
  }

  /** For a prepared value only kind and length are written; readers get the value from here. */
  encode(value: unknown, dtype: Dtype, out: EncodedValue): CodecRefusal | null {
    if (!(value instanceof LongValue)) {
      if (this.#encoded.size > 0) this.#encoded.delete(out)
      return this.#codec.encode(value, dtype, out)
    }
    out.kind = KIND.json
    out.length = value.bytes.length
    this.#encoded.set(out, value)
    return null
  }

  unpack(packed: Packed): unknown {
    return packed instanceof LongValue
      ? packed.decoded
      : this.#codec.decode(packed.kind, 0, packed.bytes, 0, packed.bytes.length)
  }

  decode(kind: number, number: number, bytes: Buffer, at: number, length: number): unknown {
    return this.#codec.decode(kind, number, bytes, at, length)
  }

  checkPlain(value: unknown): CodecRefusal | null {
    return this.#codec.checkPlain(value)
  }

  encodePlain(value: unknown): Buffer {
    return this.#codec.encodePlain(value)
  }

  decodePlain(bytes: Uint8Array): unknown {
    return this.#codec.decodePlain(bytes)
  }
}

/** `itemDigest`, in two steps: its text, and the hash of that. */
export function* digestSteps(item: unknown, sha256: Sha256): Steps<string> {
  let text = ''
  itemDigest(item, written => {
    text = written
    return ''
  })
  yield
  return sha256(text)
}

/** Whether the outputs of a body hold a long value. They came in a message, so reading them runs no code of the body. */
export function holdsLong(outputs: unknown): boolean {
  if (typeof outputs !== 'object' || outputs === null) return false
  for (const value of Object.values(outputs)) if (isLong(value)) return true
  return false
}

/** Reads the value only until it is known to be long. */
export function isLong(value: unknown): boolean {
  if (typeof value === 'string') return value.length >= LONG
  if (typeof value !== 'object' || value === null) return false
  const parts: unknown[] = [value]
  let size = 0
  while (parts.length > 0) {
    const part = parts.pop()
    if (typeof part === 'string') size += part.length
    else if (typeof part === 'object' && part !== null) {
      if (Array.isArray(part)) {
        if (part.length * PART >= LONG) return true
        for (const item of part) parts.push(item)
      } else {
        for (const [key, member] of Object.entries(part)) {
          size += key.length
          parts.push(member)
        }
      }
    }
    size += PART
    if (size + parts.length * PART >= LONG) return true
  }
  return false
}

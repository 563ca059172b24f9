/** `meta` of a point: its kind in the low four bits, above them the bytes of its payload. */
export const metaOf = (kind: number, length: number): number => (length << 4) | kind
export const kindOf = (meta: number): number => meta & 15
export const lengthOf = (meta: number): number => meta >>> 4

/**
 * Points as columns, reused from batch to batch. Payloads of str and json lie in `bytes`; for those `number` is the offset
 * of the payload there.
 */
export class PointBatch {
  count = 0
  version: Float64Array
  /** Microseconds since 1970. */
  ts: Float64Array
  number: Float64Array
  meta: Int32Array
  bytes: Buffer
  used = 0
  #capacity: number

  constructor(capacity = 4096, payload_bytes = 4096) {
    this.#capacity = capacity
    this.version = new Float64Array(capacity)
    this.ts = new Float64Array(capacity)
    this.number = new Float64Array(capacity)
    this.meta = new Int32Array(capacity)
    this.bytes = Buffer.allocUnsafeSlow(payload_bytes)
  }

  clear(): void {
    this.count = 0
    this.used = 0
  }

  /** Room for `more` points behind the present ones. */
  reserve(more: number): void {
    const want = this.count + more
    if (want > this.#capacity) this.#resize(2 ** Math.ceil(Math.log2(want)), true)
  }

  /** Gives memory back; only while it is empty. */
  shrink(capacity: number): void {
    if (this.#capacity > capacity) this.#resize(capacity, false)
  }

  /** Copies a payload behind the present ones; returns its offset. */
  payload(source: Uint8Array, at: number, length: number): number {
    const offset = this.used
    if (offset + length > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(offset + length)))
      this.bytes.copy(grown, 0, 0, offset)
      this.bytes = grown
    }
    this.bytes.set(source.subarray(at, at + length), offset)
    this.used = offset + length
    return offset
  }

  /** For tests and slow paths. */
  push(version: number, ts: number, kind: number, number: number, payload: Uint8Array | null): void {
    this.reserve(1)
    const position = this.count++
    this.version[position] = version
    this.ts[position] = ts
    this.number[position] = payload === null ? number : this.payload(payload, 0, payload.length)
    this.meta[position] = metaOf(kind, payload === null ? 0 : payload.length)
  }

  /** A payload as bytes of its own. */
  copyPayload(position: number): Buffer {
    const offset = this.number[position]!
    return Buffer.from(this.bytes.subarray(offset, offset + lengthOf(this.meta[position]!)))
  }

  #resize(capacity: number, keep: boolean): void {
    this.#capacity = capacity
    this.version = resized(this.version, new Float64Array(capacity), keep)
    this.ts = resized(this.ts, new Float64Array(capacity), keep)
    this.number = resized(this.number, new Float64Array(capacity), keep)
    this.meta = resized(this.meta, new Int32Array(capacity), keep)
  }
}

export function resized<Column extends Float64Array | Int32Array>(from: Column, to: Column, keep: boolean): Column {
  if (keep) to.set(from)
  return to
}

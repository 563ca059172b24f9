/**
 * Points of one message as columns, reused from batch to batch. Payloads of str and json lie one behind the other in
 * `bytes`; for those `number` is the offset of the payload there.
 */
export class PointBatch {
  count = 0
  version: Float64Array
  ts: Float64Array
  number: Float64Array
  kind: Uint8Array
  /** Payload bytes; 0 for numbers and null. */
  length: Int32Array
  bytes: Buffer
  used = 0
  #capacity: number

  constructor(capacity = 4096, payload_bytes = 4096) {
    this.#capacity = capacity
    this.version = new Float64Array(capacity)
    this.ts = new Float64Array(capacity)
    this.number = new Float64Array(capacity)
    this.kind = new Uint8Array(capacity)
    this.length = new Int32Array(capacity)
    this.bytes = Buffer.allocUnsafeSlow(payload_bytes)
  }

  clear(): void {
    this.count = 0
    this.used = 0
  }

  /** Room for `more` points behind the present ones. */
  reserve(more: number): void {
    const want = this.count + more
    if (want <= this.#capacity) return
    this.#capacity = 2 ** Math.ceil(Math.log2(want))
    this.version = widen(this.version, new Float64Array(this.#capacity))
    this.ts = widen(this.ts, new Float64Array(this.#capacity))
    this.number = widen(this.number, new Float64Array(this.#capacity))
    this.kind = widen(this.kind, new Uint8Array(this.#capacity))
    this.length = widen(this.length, new Int32Array(this.#capacity))
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
    this.kind[position] = kind
    this.number[position] = payload === null ? number : this.payload(payload, 0, payload.length)
    this.length[position] = payload === null ? 0 : payload.length
  }
}

export function widen<Column extends Float64Array | Int32Array | Uint8Array>(from: Column, to: Column): Column {
  to.set(from)
  return to
}

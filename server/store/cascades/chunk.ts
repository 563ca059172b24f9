import { putVarint, unzigzag, VarintReader, zigzag } from '../history/varint.ts'
import { CASCADE_COLUMNS, type CascadeRows, WIDTH } from './pending.ts'

/**
 * Cascade records as columns: `u8 format 1, varint count`, then for each column of `CASCADE_COLUMNS` one byte and
 *
 *   0  varint, the value that all rows have
 *   1  a varint each
 *   2  a zigzag difference each, from the row before (the first from 0)
 *
 * `flow` and `message` are ids of rows here (in a pending row they are engine-wide indexes).
 */
const FORMAT = 1
const FORM = { constant: 0, plain: 1, difference: 2 } as const
const LONGEST = 9

export class CascadeEncoder {
  bytes: Buffer = Buffer.allocUnsafeSlow(256 * 1024)

  /** Encodes rows `[from, to)` into `this.bytes`; returns the length. */
  encode(rows: CascadeRows, from: number, to: number): number {
    const want = 16 + (to - from) * WIDTH * LONGEST + WIDTH
    if (this.bytes.length < want) this.bytes = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(want)))
    const { bytes } = this
    bytes[0] = FORMAT
    let at = putVarint(bytes, 1, to - from)
    for (let column = 0; column < WIDTH; column++) at = this.#column(rows.values, column, from, to, at)
    return at
  }

  #column(values: Float64Array, column: number, from: number, to: number, at: number): number {
    const { bytes } = this
    const first = values[from * WIDTH + column]!
    let same = true
    let plain = first
    let difference = 0
    let before = first
    for (let row = from + 1; row < to; row++) {
      const value = values[row * WIDTH + column]!
      if (value !== first) same = false
      plain += value
      difference += Math.abs(value - before)
      before = value
    }
    if (same) {
      bytes[at] = FORM.constant
      return putVarint(bytes, at + 1, first)
    }
    const differs = difference * 2 < plain
    bytes[at++] = differs ? FORM.difference : FORM.plain
    before = 0
    for (let row = from; row < to; row++) {
      const value = values[row * WIDTH + column]!
      at = putVarint(bytes, at, differs ? zigzag(value - before) : value)
      before = value
    }
    return at
  }
}

/** Appends the records of a chunk to `into`. */
export function decodeCascades(bytes: Uint8Array, into: CascadeRows): void {
  if (bytes[0] !== FORMAT) throw new RangeError(`cascade chunk format ${bytes[0]} is unknown`)
  const reader = new VarintReader(bytes, 1)
  const count = reader.next()
  if (count > bytes.length * 65_536)
    throw new RangeError(`cascade chunk of ${bytes.length} bytes claims ${count} records`)
  into.reserve(count)
  const from = into.count
  into.count += count
  const { values } = into
  for (let column = 0; column < CASCADE_COLUMNS.length; column++) {
    const form = bytes[reader.at++]
    let value = form === FORM.constant ? reader.next() : 0
    for (let row = from; row < from + count; row++) {
      if (form === FORM.plain) value = reader.next()
      else if (form === FORM.difference) value += unzigzag(reader.next())
      else if (form !== FORM.constant) throw new RangeError(`cascade column form ${form} is unknown`)
      values[row * WIDTH + column] = value
    }
  }
}

/** How many records of each status a chunk holds of each flow: varints `flow, succeeded, failed, interrupted`, one group a flow. */
export function encodeFlowCounts(rows: CascadeRows, from: number, to: number): Buffer {
  const counts = new Map<number, [number, number, number]>()
  for (let row = from; row < to; row++) {
    const flow = rows.get(row, 'flow')
    let found = counts.get(flow)
    if (!found) {
      found = [0, 0, 0]
      counts.set(flow, found)
    }
    found[rows.get(row, 'status') - 1]!++
  }
  const bytes = Buffer.allocUnsafe(counts.size * 4 * LONGEST)
  let at = 0
  for (const [flow, found] of counts) {
    at = putVarint(bytes, at, flow)
    for (const count of found) at = putVarint(bytes, at, count)
  }
  return bytes.subarray(0, at)
}

/** Records of the flow (null: of all) and status (null: of any) in a chunk, from its counts alone. */
export function countIn(counts: Uint8Array, flow: number | null, status: number | null): number {
  const reader = new VarintReader(counts)
  let sum = 0
  while (reader.at < counts.length) {
    const id = reader.next()
    for (let each = 1; each <= 3; each++) {
      const count = reader.next()
      if ((flow === null || flow === id) && (status === null || status === each)) sum += count
    }
  }
  return sum
}

import type { MetricPoint } from './records.ts'

/** Points of one curve as columns: all steps, then all values, as little-endian f64, which is how every machine that this runs on has them. */

export function encodeChunk(points: readonly MetricPoint[]): Buffer {
  const columns = new Float64Array(2 * points.length)
  points.forEach(({ step, value }, i) => {
    columns[i] = step
    columns[points.length + i] = value
  })
  return Buffer.from(columns.buffer)
}

export interface MetricColumns {
  steps: Float64Array
  values: Float64Array
}

export function decodeChunk(bytes: Buffer, count: number): MetricColumns {
  // A view must begin at a multiple of its width.
  const { buffer, byteOffset } = bytes.byteOffset % 8 === 0 ? bytes : Buffer.from(Uint8Array.from(bytes).buffer)
  return {
    steps: new Float64Array(buffer, byteOffset, count),
    values: new Float64Array(buffer, byteOffset + 8 * count, count),
  }
}

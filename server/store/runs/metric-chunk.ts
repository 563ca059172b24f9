/** Points of one curve as columns: all steps, then all values, as little-endian f64, which is how every machine that this runs on has them. */

/** Most points in one row, which a reader decodes at once. */
const CHUNK_POINTS = 4096

export interface MetricPoint {
  /** `<node>.<name>` */
  name: string
  step: number
  value: number
}

/** Points of one curve that are written together; `bytes` in base64, since JSON knows no -0. */
export interface CurveChunk {
  name: string
  bytes: string
}

/** Curve by curve, in the order of the points. */
export function chunksOf(points: readonly MetricPoint[]): CurveChunk[] {
  const chunks: CurveChunk[] = []
  for (const [name, curve] of Map.groupBy(points, point => point.name))
    for (let from = 0; from < curve.length; from += CHUNK_POINTS)
      chunks.push({ name, bytes: encodeChunk(curve.slice(from, from + CHUNK_POINTS)).toString('base64') })
  return chunks
}

export const pointsIn = (bytes: Buffer): number => bytes.length / 16

export const lastValueIn = (bytes: Buffer): number => bytes.readDoubleLE(bytes.length - 8)

function encodeChunk(points: readonly MetricPoint[]): Buffer {
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

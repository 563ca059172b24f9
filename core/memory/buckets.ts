/**
 * Histogram buckets are log-linear: eight to an octave from 64 ns to 1100 s, taken directly from the bits of a double
 * (exponent and the first three bits of the mantissa), so a bucket is at most 12 % wide and finding it costs no logarithm.
 */
const SUB_BITS = 3
const FIRST_EXPONENT = 6
const LAST_EXPONENT = 40
export const BUCKETS = (LAST_EXPONENT - FIRST_EXPONENT) << SUB_BITS
/** Anything shorter is counted in the first bucket. */
export const SHORTEST_NS = 2 ** FIRST_EXPONENT
const BIAS = (1023 + FIRST_EXPONENT) << SUB_BITS

const bits = new Float64Array(1)
const words = new Int32Array(bits.buffer)

/** Bucket of a duration in ns; what lies outside the range goes to the first or last one. */
export function bucketOf(ns: number): number {
  bits[0] = ns
  const bucket = (words[1]! >> (20 - SUB_BITS)) - BIAS
  return bucket > 0 ? (bucket < BUCKETS ? bucket : BUCKETS - 1) : 0
}

/** Least duration of a bucket in ns. */
export const bucketFloor = (bucket: number): number =>
  2 ** (FIRST_EXPONENT + (bucket >> SUB_BITS)) * (1 + (bucket & ((1 << SUB_BITS) - 1)) / (1 << SUB_BITS))

/** The duration in ns that a share `q` of what was counted did not exceed; the middle of its bucket. Null when nothing was. */
export function quantileOf(counts: ArrayLike<number>, q: number): number | null {
  let total = 0
  for (let i = 0; i < BUCKETS; i++) total += counts[i]!
  if (total === 0) return null
  const rank = Math.max(1, Math.ceil(q * total))
  let seen = 0
  let bucket = 0
  for (; bucket < BUCKETS - 1; bucket++) {
    seen += counts[bucket]!
    if (seen >= rank) break
  }
  return (bucketFloor(bucket) + bucketFloor(bucket + 1)) / 2
}

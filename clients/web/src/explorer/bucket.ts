const BINS = 600
/** Below it every value is drawn. */
const RAW_S = 20
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 86_400]

/** The width of a bin for a span, both in seconds, so that a chart has at most 600 of them; null: every value. */
export function bucketOf(span_s: number): number | null {
  if (span_s <= RAW_S) return null
  return STEPS.find(step => span_s / step <= BINS) ?? STEPS.at(-1)!
}

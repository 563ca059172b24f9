/**
 * Exponential moving average with a correction of the begin, so that it does not lean towards zero there. `weight` of what was before, 0 to 0.99; 0 is the
 * line itself. What is no number stays a gap.
 */
export function smoothed(values: readonly number[], weight: number): (number | null)[] {
  if (weight === 0) return values.map(value => (Number.isFinite(value) ? value : null))
  let last = 0
  let count = 0
  return values.map(value => {
    if (!Number.isFinite(value)) return null
    count++
    last = last * weight + (1 - weight) * value
    return last / (1 - weight ** count)
  })
}

interface Context {
  settings: {
    /** Readings that the estimate reaches back, about. */
    over: number
    /** Readings to learn from before anything counts as a deviation. */
    learn: number
    /** Standard deviations; a value further off moves the estimate no more than this one would. */
    clip: number
  }
  state: { seen?: number; mean?: number; variance?: number }
}

/** Degrees: the spread is never taken for smaller, however steady the machine has been. */
const SMALLEST_SPREAD = 2

/**
 * A running estimate of what is normal, kept across restarts: mean and variance, both adapting slowly, fed with clipped
 * differences, so that a failure does not teach the estimate that failing is normal. `deviation` is how many standard
 * deviations the machine is away from it.
 */
export default function baseline({ smoothed }: { smoothed: number }, ctx: Context) {
  const { over, learn, clip } = ctx.settings
  const { seen = 0, mean = smoothed, variance = 25 } = ctx.state
  const spread = Math.sqrt(variance)
  const difference = smoothed - mean
  const clipped = Math.max(-clip * spread, Math.min(clip * spread, difference))
  // The first readings weigh as in a plain average: 1, 1/2, 1/3 ...
  const weight = Math.max(1 / over, 1 / (seen + 1))
  ctx.state.seen = seen + 1
  ctx.state.mean = mean + weight * clipped
  ctx.state.variance = Math.max(SMALLEST_SPREAD ** 2, variance + weight * (clipped ** 2 - variance))
  return { expected: mean, deviation: seen < learn ? 0 : difference / spread }
}

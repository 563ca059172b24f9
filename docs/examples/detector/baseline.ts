interface Reference {
  digest: string
  media_type: string
}
interface Context {
  settings: {
    /** Hours that the estimate reaches back, about. */
    over: number
    /** Hours to learn from before anything counts as a deviation. */
    learn: number
    /** Standard deviations; a value further off moves the estimate no more than this one would. */
    clip: number
    /** In the unit of the series: the spread is never taken for smaller, however steady it has been. */
    smallest_spread: number
  }
  read(reference: Reference): Promise<Uint8Array>
  artifact(content: Float64Array | string, media_type: string): Promise<Reference>
  metric(name: string, value: number, step: number): void
}

const CURVE_POINTS = 200

/**
 * A running estimate of what is normal: mean and variance, both adapting slowly, fed with clipped differences, so that a
 * failure does not teach the estimate that failing is normal. `deviations` are in standard deviations; `learned` is what
 * the estimate has come to at the end.
 */
export default async function baseline({ times, smoothed }: { times: Reference; smoothed: Reference }, ctx: Context) {
  const { over, learn, clip, smallest_spread } = ctx.settings
  const at = numbers(await ctx.read(times))
  const values = numbers(await ctx.read(smoothed))
  const deviations = new Float64Array(values.length)
  const every = Math.ceil(values.length / CURVE_POINTS)
  let mean = values[0]
  let variance = 0
  let furthest = 0
  for (let reading = 0; reading < values.length; reading++) {
    const hours = reading === 0 ? 0 : Math.max(0, at[reading] - at[reading - 1]) / 3600
    const spread = Math.max(smallest_spread, Math.sqrt(variance))
    const difference = values[reading] - mean
    const isLearning = at[reading] - at[0] < learn * 3600
    deviations[reading] = isLearning ? 0 : difference / spread
    const taken = isLearning ? difference : Math.max(-clip * spread, Math.min(clip * spread, difference))
    // The first readings weigh as in a plain average: 1, 1/2, 1/3 ...
    const weight = Math.max(hours / over, 1 / (reading + 1))
    mean += weight * taken
    variance += weight * (taken ** 2 - variance)
    // The curve shows the worst of each stretch: peaks are what it is looked at for.
    if (Math.abs(deviations[reading]) > Math.abs(furthest)) furthest = deviations[reading]
    if (reading % every !== every - 1) continue
    ctx.metric('deviation', furthest, reading)
    furthest = 0
  }
  const learned = { over, clip, mean, spread: Math.max(smallest_spread, Math.sqrt(variance)), smoothed: values.at(-1) }
  return {
    deviations: await ctx.artifact(deviations, 'application/octet-stream'),
    learned: await ctx.artifact(JSON.stringify(learned), 'application/json'),
  }
}

const numbers = (bytes: Uint8Array) => new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8)

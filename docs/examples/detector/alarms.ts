interface Reference {
  digest: string
  media_type: string
}
interface Context {
  /** An alarm is cleared at this share of the threshold: in between it stays as it is, so it does not flutter. */
  settings: { clear_share: number }
  read(reference: Reference): Promise<Uint8Array>
  artifact(content: string, media_type: string): Promise<Reference>
  metric(name: string, value: number, step: number): void
}

const CURVE_POINTS = 200

/**
 * Raises an alarm while the series is further than `threshold` deviations from normal. `raised` are the readings at which
 * one was raised; `model` is all that it takes to judge the next reading.
 */
export default async function alarms(
  inputs: { deviations: Reference; learned: Reference; threshold: number; window: number },
  ctx: Context,
) {
  const { threshold, window } = inputs
  const clear_at = threshold * ctx.settings.clear_share
  const deviations = numbers(await ctx.read(inputs.deviations))
  const every = Math.ceil(deviations.length / CURVE_POINTS)
  const raised: number[] = []
  let isRaised = false
  for (let reading = 0; reading < deviations.length; reading++) {
    const distance = Math.abs(deviations[reading])
    const wasRaised = isRaised
    isRaised = isRaised ? distance >= clear_at : distance > threshold
    if (isRaised && !wasRaised) raised.push(reading)
    const isLast = reading === deviations.length - 1
    if (reading % every === 0 || isLast) ctx.metric('raised', raised.length, reading)
  }
  const learned = JSON.parse(new TextDecoder().decode(await ctx.read(inputs.learned)))
  const model = { window, threshold, clear_at, ...learned, is_raised: isRaised }
  return { raised, model: await ctx.artifact(JSON.stringify(model, null, 2), 'application/json') }
}

const numbers = (bytes: Uint8Array) => new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8)

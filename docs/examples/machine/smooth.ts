interface Context {
  /** Readings that the average reaches back, about. */
  settings: { over: number }
  state: { smoothed?: number }
}

/** An exponential moving average: one reading out of line does not count as a change of the machine. */
export default function smooth({ temperature }: { temperature: number }, ctx: Context) {
  const before = ctx.state.smoothed ?? temperature
  const smoothed = before + (temperature - before) / ctx.settings.over
  ctx.state.smoothed = smoothed
  return { smoothed }
}

interface Context {
  settings: {
    /** By sensor: below the first and above the second number an alarm is raised. */
    ranges: Record<string, [number, number]>
    /** It is cleared so far inside of the range, as a part of its width: so it does not flutter. */
    margin: number
  }
  /** By sensor: is its alarm raised? */
  state: Record<string, boolean>
}

export interface Filtered {
  sensor: string
  timestamp: string
  value: number
}

/** Publishes changes only: each becomes one message to the broker. */
export default function alarm({ filtered }: { filtered: Filtered }, ctx: Context) {
  const { sensor, timestamp, value } = filtered
  const range = ctx.settings.ranges[sensor]
  if (range === undefined) return
  const before = ctx.state[sensor] ?? false
  const inside = before ? ctx.settings.margin * (range[1] - range[0]) : 0
  const now = value < range[0] + inside || value > range[1] - inside
  if (now === before) return
  ctx.state[sensor] = now
  return { changed: { sensor, alarm: now, timestamp, value } }
}

interface Context {
  /** Readings: a value that stands for less than half as many does not count. */
  settings: { median_of: number }
  /** The last readings of each sensor. */
  state: Record<string, number[]>
}

export interface Reading {
  timestamp: string
  value: number
}

/** The median of each sensor's last readings, once there are enough of them. A sensor is named by its topic, `plant/<sensor>/reading`. */
export default function filter({ reading, topic }: { reading: Reading; topic: string }, ctx: Context) {
  const sensor = topic.split('/')[1]!
  const last = [...(ctx.state[sensor] ?? []), reading.value].slice(-ctx.settings.median_of)
  ctx.state[sensor] = last
  if (last.length < ctx.settings.median_of) return
  const value = last.toSorted((a, b) => a - b)[last.length >> 1]!
  return { filtered: { sensor, timestamp: reading.timestamp, value } }
}

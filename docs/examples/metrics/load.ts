interface Context {
  /** Lines between two looks at which host is the busiest. */
  settings: { every: number }
  /** Use of each host's processors, as a moving average, and how many lines came. */
  state: { seen?: number; use?: Record<string, number> }
}

interface Line {
  host: string
  user: number
  system: number
  /** Microseconds since 1970. */
  at: number
}

/** Averages the use of each host over about its last 100 lines; says every so many lines how many came, and which host is the busiest. */
export default function load({ host, user, system, at }: Line, ctx: Context) {
  const use = (ctx.state.use ??= {})
  const before = use[host] ?? user + system
  use[host] = before + (user + system - before) / 100
  const seen = (ctx.state.seen ?? 0) + 1
  ctx.state.seen = seen
  if (seen % ctx.settings.every !== 0) return
  const [name, percent] = Object.entries(use).reduce((most, one) => (one[1] > most[1] ? one : most))
  return { seen, busiest: { host: name, percent, at } }
}

interface Context {
  /** Standard deviations. Two thresholds: between them the alarm stays as it is, so it does not flutter. */
  settings: { raise_at: number; clear_at: number }
  state: { alarm?: boolean }
}

/** Raised while the machine is far from its baseline. Publishes changes only; whoever reads `alarm` sleeps in between. */
export default function alarm({ deviation, reading }: { deviation: number; reading: number }, ctx: Context) {
  const before = ctx.state.alarm
  const distance = Math.abs(deviation)
  const now = before ? distance >= ctx.settings.clear_at : distance > ctx.settings.raise_at
  if (now === before) return
  ctx.state.alarm = now
  return { alarm: now, changed_at: reading }
}

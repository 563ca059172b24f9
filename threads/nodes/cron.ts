import { Cron } from 'croner'

/** Milliseconds since 1970 of the next time after `after_ms`; null when there is none. */
export function nextCron(expression: string, timezone: string, after_ms: number): number | null {
  const next = new Cron(expression, { timezone, paused: true }).nextRun(new Date(after_ms))
  return next === null ? null : next.getTime()
}

import { Cron } from 'croner'

/** Milliseconds since 1970 of the next time after `after_ms`; null when there is none. */
export function nextCron(expression: string, timezone: string, after_ms: number): number | null {
  const next = new Cron(expression, { timezone, paused: true }).nextRun(new Date(after_ms))
  return next === null ? null : next.getTime()
}

/** How far the time zone is ahead of UTC then, in milliseconds. */
function aheadOfUtc(timezone: string, at_ms: number): number {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset', hour: 'numeric' })
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(at_ms)) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000
}

/** No change of a time zone's clock takes longer. */
const CHANGE_MS = 3 * 3_600_000

/** When the time of day of `at_ms`, a time of the expression, comes again because the time zone's clock goes back, and is not taken again; else null. */
export function repeatOf(expression: string, timezone: string, at_ms: number): number | null {
  const ahead_ms = aheadOfUtc(timezone, at_ms)
  const back_ms = ahead_ms - aheadOfUtc(timezone, at_ms + CHANGE_MS)
  if (back_ms <= 0) return null
  const again_ms = at_ms + back_ms
  if (aheadOfUtc(timezone, again_ms) !== ahead_ms - back_ms) return null
  return nextCron(expression, timezone, again_ms - 1) === again_ms ? null : again_ms
}

/** Why the expression is invalid, or null. One that never fires (30 February) is invalid, too. */
export function cronFault(expression: string, timezone: string): string | null {
  const fields = expression.trim().split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6)
    return `"${expression}" has ${expression.trim() === '' ? 0 : fields.length} fields; five are needed, or six with seconds first`
  try {
    return nextCron(expression, timezone, Date.now()) === null ? `"${expression}" never comes` : null
  } catch (error) {
    return `"${expression}": ${(error as Error).message.replace(/^CronPattern: /, '')}`
  }
}

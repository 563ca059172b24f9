import { Cron } from 'croner'

/** Milliseconds since 1970 of the next time after `after_ms`; null when there is none. */
export function nextCron(expression: string, timezone: string, after_ms: number): number | null {
  const next = new Cron(expression, { timezone, paused: true }).nextRun(new Date(after_ms))
  return next === null ? null : next.getTime()
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

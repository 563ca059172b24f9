import { limits } from '../../protocol/limits.ts'

/** By the machine's clock, in milliseconds since 1970. */
export interface CronJump {
  /** The clock stood here, and was set to `to_ms`. */
  readonly from_ms: number
  readonly to_ms: number
  /** The next time of the expression, as it was planned before. */
  readonly planned_ms: number
}

/**
 * When a cron expression fires next once the clock was set, as cron(8) has it. One with a star for its minute or hour goes by the
 * new clock at once. Any other names a time of day: one that a short jump skips comes now, and one that it repeats is not repeated;
 * a long jump is a clock that was wrong, and makes up for nothing.
 */
export function planAfterJump(
  expression: string,
  { from_ms, to_ms, planned_ms }: CronJump,
  next: (after_ms: number) => number | null,
): number | null {
  if (isRepeating(expression) || Math.abs(to_ms - from_ms) > limits.CRON_JUMP_MS) return next(to_ms)
  return Math.max(planned_ms, to_ms)
}

function isRepeating(expression: string): boolean {
  const [minute = '', hour = ''] = expression.trim().split(/\s+/).slice(-5)
  return minute.startsWith('*') || hour.startsWith('*')
}

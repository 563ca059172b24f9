import { usage } from './failure.ts'

const DAY_S = 86_400
const UNITS: Readonly<Record<string, number>> = { h: 3_600, d: DAY_S, w: 7 * DAY_S, y: 365 * DAY_S }

/** The seconds of `--expires`: a number and h, d, w or y; at most `most_s`. */
export function secondsOf(text: string, most_s: number): number {
  const [, count, unit] = /^(\d{1,6})([hdwy])$/.exec(text) ?? []
  const seconds = Number(count) * (UNITS[unit ?? ''] ?? Number.NaN)
  if (seconds > 0 && seconds <= most_s) return seconds
  throw usage(`--expires is ${JSON.stringify(text)}: a time such as 12h, 90d, 8w or 1y is needed, at most 10y.`)
}

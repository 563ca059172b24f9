/** Figures as people read them. */

/** `4.2 MiB` */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let at = 0
  let figure = count
  for (; figure >= 1024 && at < units.length - 1; at++) figure /= 1024
  return `${at === 0 || figure >= 100 ? Math.round(figure) : figure.toFixed(1)} ${units[at]}`
}

/** `850 ms`, `12 s`, `3 min 20 s`, `5 h 2 min`, `4 d 7 h` */
export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  const whole = Math.floor(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`
  if (whole < 86_400) return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3_600)} h`
}

/** A latency in at most seven columns: `<72 ns`, `850 ns`, `12.5 us`, `3.20 ms`, `1.25 s`, `310 s`. */
export function latency(seconds: number): string {
  const ns = seconds * 1e9
  // The middle of the first bucket; the measured value lies below the end of that bucket.
  if (ns < 72) return '<72 ns'
  const units = ['ns', 'us', 'ms', 's']
  let at = 0
  let figure = ns
  for (; figure >= 999.5 && at < units.length - 1; at++) figure /= 1000
  return `${figure >= 99.5 || at === 0 ? figure.toFixed(0) : figure.toPrecision(3)} ${units[at]}`
}

/** A rate in at most six columns: `0.25`, `12.5`, `950`, `12.3k`, `1.20M`. */
export function rate(per_s: number): string {
  if (per_s === 0) return '0'
  if (per_s >= 999_500) return `${(per_s / 1e6).toFixed(per_s < 99.5e6 ? 2 : 0)}M`
  if (per_s >= 9_999.5) return `${(per_s / 1e3).toFixed(per_s < 99_950 ? 1 : 0)}k`
  if (per_s >= 99.95) return per_s.toFixed(0)
  return per_s.toFixed(per_s < 9.995 ? 2 : 1)
}

/** A count in at most six columns. */
export const count = (whole: number): string => (whole < 99_999.5 ? String(whole) : rate(whole))

/** `2026-01-01 12:00:00` of an RFC 3339 time, as written. */
export const shortTime = (text: string): string => text.slice(0, 19).replace('T', ' ')

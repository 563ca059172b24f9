/** Figures as the dashboard has them: right-aligned, thousands apart, without units that stand in the head. */

const grouped = (whole: number): string => String(Math.round(whole)).replace(/\B(?=(\d{3})+$)/g, ' ')

/** `0`, `0.2`, `96.4`, `412.6`, `1 204` */
export function perSecond(per_s: number): string {
  if (per_s === 0) return '0'
  if (per_s < 0.1) return per_s.toFixed(2)
  if (per_s < 999.95) return per_s.toFixed(1)
  if (per_s < 999_999.5) return grouped(per_s)
  return `${(per_s / 1e6).toFixed(2)}M`
}

/** Milliseconds with three digits: `0.31`, `23.0`, `212`; `–` for none. */
export function milliseconds(seconds: number | null): string {
  if (seconds === null) return '–'
  const ms = seconds * 1000
  if (ms < 0.01) return '<0.01'
  if (ms < 9.995) return ms.toFixed(2)
  if (ms < 99.95) return ms.toFixed(1)
  return ms < 999_999.5 ? grouped(ms) : '>999 s'
}

/** `62 %` */
export const percent = (share: number): string => `${Math.round(share * 100)} %`

export const counted = (whole: number): string => grouped(whole)

/** How long something has lasted, in its one largest unit: `14 s`, `2 min`, `5 h`, `9 d`. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`
}

/** `3 m 12 s` */
export function waitTime(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${seconds % 60} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} m`
}

/** Of the clock of whoever looks. */
export function clock(ms: number): string {
  const date = new Date(ms)
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(part => String(part).padStart(2, '0')).join(':')
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `Sun 22 Nov` */
export function day(ms: number): string {
  const date = new Date(ms)
  return `${DAYS[date.getDay()]} ${date.getDate()} ${MONTHS[date.getMonth()]}`
}

const HEIGHTS = '▁▂▃▄▅▆▇█'

/** The newest `width` points over an axis at zero, at the right end of it. */
export function zeroLine(points: readonly number[], width: number): string {
  const shown = points.slice(-width)
  const most = Math.max(...shown, 0)
  const text = shown
    .map(point => HEIGHTS[most <= 0 ? 0 : Math.max(0, Math.ceil((point / most) * HEIGHTS.length) - 1)])
    .join('')
  return text.padStart(width)
}

const PARTS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A share of `width` columns, to an eighth of one. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8)
  const full = '█'.repeat(eighths >> 3) + PARTS[eighths & 7]
  return full + '░'.repeat(width - full.length)
}

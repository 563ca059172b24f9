/** How figures, times and sizes are written everywhere in the app. */

const THIN = '\u202f'

/** 12 345.6 with narrow spaces; at most `digits` behind the point. */
export function numberText(value: number, digits = 2): string {
  if (!Number.isFinite(value)) return String(value)
  const magnitude = Math.abs(value)
  if (magnitude !== 0 && (magnitude < 1e-3 || magnitude >= 1e12)) return value.toExponential(2)
  return value.toLocaleString('en', { maximumFractionDigits: digits }).replaceAll(',', THIN)
}

/** A rate a second: few digits, so that it does not flicker. */
export const rateText = (rate: number): string => numberText(rate, rate >= 100 ? 0 : rate >= 10 ? 1 : 2)

/** 14 s, 2 min, 3 h, 2 d. */
export function ageText(seconds: number): string {
  if (!Number.isFinite(seconds)) return ''
  const age = Math.max(0, seconds)
  if (age < 1) return 'now'
  if (age < 60) return `${Math.floor(age)} s`
  if (age < 3600) return `${Math.floor(age / 60)} min`
  if (age < 86_400) return `${Math.floor(age / 3600)} h`
  return `${Math.floor(age / 86_400)} d`
}

/** 41 d 6 h, 3 min 12 s, 0.31 ms. */
export function durationText(seconds: number): string {
  if (seconds < 1e-3) return `${numberText(seconds * 1e6, 0)} µs`
  if (seconds < 1) return `${numberText(seconds * 1e3, 2)} ms`
  if (seconds < 60) return `${numberText(seconds, 1)} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** 1.3 GB, with steps of 1,024. */
export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${numberText(value, unit === 0 || value >= 100 ? 0 : 1)} ${UNITS[unit]}`
}

/** A value of any dtype in one line of at most `most` characters. */
export function valueText(value: unknown, most = 80): string {
  if (value === null || value === undefined) return '–'
  if (typeof value === 'number') return numberText(value, 4)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const media = mediaText(value)
  if (media !== null) return media
  const text = typeof value === 'string' ? `“${value}”` : JSON.stringify(value)
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

/** A reference to bytes: what they are, and how large a picture is; null for another value. */
function mediaText(value: unknown): string | null {
  const { digest, media_type, meta } = value as {
    digest?: unknown
    media_type?: unknown
    meta?: Record<string, unknown>
  }
  if (typeof digest !== 'string' || typeof media_type !== 'string') return null
  const kind = media_type.slice(media_type.indexOf('/') + 1)
  return typeof meta?.['width'] === 'number' ? `${meta['width']}×${meta['height']} ${kind}` : kind
}

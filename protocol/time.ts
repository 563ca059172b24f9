/** Time on the wire: RFC 3339 with an explicit offset and microseconds. Inside, microseconds since 1970 in a double (exact until 2255). */

/** `1767225600000001` -> `2026-01-01T00:00:00.000001+00:00`. */
export function formatTime(us: number): string {
  const ms = Math.floor(us / 1000)
  const rest = Math.round(us - ms * 1000)
  return `${new Date(ms).toISOString().slice(0, 23)}${String(rest).padStart(3, '0')}+00:00`
}

const RFC3339 = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/

/** Microseconds since 1970, or null when the text is no RFC 3339 time with an offset. */
export function parseTime(text: string): number | null {
  const match = RFC3339.exec(text)
  if (!match) return null
  const ms = Date.parse(`${match[1]}T${match[2]}${match[4] === 'z' ? 'Z' : match[4]!.toUpperCase()}`)
  if (Number.isNaN(ms)) return null
  const fraction = match[3] ? Math.floor(Number(match[3]) * 1e6 + 1e-4) : 0
  return ms * 1000 + fraction
}

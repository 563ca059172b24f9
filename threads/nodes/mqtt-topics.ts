/** Topics and filters of MQTT (5.0, section 4.7): levels between slashes; `+` is one level, `#` at the end is all that follow and the level before. */

/** Why a text is no filter; null: it is one. */
export function filterFault(filter: string): string | null {
  const fault = textFault(filter)
  if (fault !== null) return fault
  if (filter.startsWith('$share/')) return 'shared subscriptions are not supported'
  const levels = filter.split('/')
  for (const [at, level] of levels.entries()) {
    if (level.includes('+') && level !== '+') return '"+" stands for a whole level'
    if (level.includes('#') && (level !== '#' || at !== levels.length - 1)) return '"#" is the last level, alone'
  }
  return null
}

/** Why a text is no topic to publish to; null: it is one. */
export function topicFault(topic: string): string | null {
  if (/[+#]/.test(topic)) return 'a topic has no "+" and no "#"'
  return textFault(topic)
}

const MOST_BYTES = 65_535

function textFault(text: string): string | null {
  if (text === '') return 'it is empty'
  if (text.includes('\0')) return 'it has a zero character'
  if (!text.isWellFormed()) return 'it is no well-formed text'
  if (text.length > MOST_BYTES / 3 && Buffer.byteLength(text) > MOST_BYTES)
    return `it has more than ${MOST_BYTES} bytes`
  return null
}

export function matches(filter: string, topic: string): boolean {
  // Topics of the broker itself are not meant by a wildcard at the start.
  if (topic.startsWith('$') && (filter[0] === '+' || filter[0] === '#')) return false
  const wanted = filter.split('/')
  const levels = topic.split('/')
  for (const [at, level] of wanted.entries()) {
    if (level === '#') return true
    if (at >= levels.length || (level !== '+' && level !== levels[at])) return false
  }
  return wanted.length === levels.length
}

/** Is there a topic that both match? */
export function overlap(one: string, other: string): boolean {
  const [a, b] = [one.split('/'), other.split('/')]
  if ((one.startsWith('$') && /^[+#]/.test(other)) || (other.startsWith('$') && /^[+#]/.test(one))) return false
  for (let at = 0; ; at++) {
    const [x, y] = [a[at], b[at]]
    if (x === '#' || y === '#') return true
    if (x === undefined || y === undefined) return x === y
    if (x !== '+' && y !== '+' && x !== y) return false
  }
}

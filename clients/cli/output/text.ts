import stringWidth from 'string-width'

/** Text from an engine for a terminal: without control characters, measured in columns. */

const CONTROL = /\p{Cc}|\p{Zl}|\p{Zp}|\p{Bidi_Control}/gu
/** Removes escape sequences that a value of a flow may hold; a terminal would obey them. */
export const printable = (text: string): string =>
  text.replace(CONTROL, character => {
    if (character === '\n') return '\\n'
    if (character === '\t') return '\\t'
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  })

/** ASCII, lines, blocks and shapes: one column each. This is much faster than the library. */
const PLAIN = /^[\x20-\x7e·–‖…›⏎⧗\u2190-\u2193\u2500-\u25ef]*$/
export const isPlain = (text: string): boolean => PLAIN.test(text)

/** Terminal columns of a printable text. A character of several code points, such as a flag, counts as one. */
export const columns = (text: string): number =>
  isPlain(text) ? text.length : stringWidth(text, { countAnsiEscapeCodes: true })

const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** At most `width` columns, with an ellipsis where something was left out. */
export function fit(text: string, width: number): string {
  if (columns(text) <= width) return text
  if (width <= 1) return '…'.slice(0, width)
  let kept = ''
  let sum = 0
  for (const { segment } of characters.segment(text)) {
    sum += columns(segment)
    if (sum > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

export const padEnd = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - columns(text)))
export const padStart = (text: string, width: number): string => ' '.repeat(Math.max(0, width - columns(text))) + text

/** How text from an engine is shown on a terminal: without control characters, measured in columns. */

const CONTROL = /\p{Cc}|\p{Zl}|\p{Zp}|\p{Bidi_Control}/gu
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const ZERO = /\p{Mn}|\p{Me}|\p{Cf}/u

/** A value of a flow may hold escape sequences; on a terminal they would be obeyed. */
export const printable = (text: string): string =>
  text.replace(CONTROL, character => {
    if (character === '\n') return '\\n'
    if (character === '\t') return '\\t'
    return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
  })

const columnsOf = (character: string): number => (ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1)

/** Terminal columns; text must be printable. */
export function columns(text: string): number {
  let sum = 0
  for (const character of text) sum += columnsOf(character)
  return sum
}

/** At most `width` columns, with an ellipsis where something was left out. */
export function fit(text: string, width: number): string {
  if (columns(text) <= width) return text
  if (width <= 1) return '…'.slice(0, width)
  let kept = ''
  let sum = 0
  for (const character of text) {
    sum += columnsOf(character)
    if (sum > width - 1) break
    kept += character
  }
  return `${kept}…`
}

export const padEnd = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - columns(text)))
export const padStart = (text: string, width: number): string => ' '.repeat(Math.max(0, width - columns(text))) + text

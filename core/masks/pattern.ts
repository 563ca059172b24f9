import type { Steps } from '../steps.ts'

/**
 * What is known of a text that is to be masked, without the text: hashes. So every thread can look for secrets that it was never given.
 *
 * A text counts as UTF-16 units. A window is `WINDOW` of them in a row. Hashes are polynomials over the units, modulo 2^32.
 */
export const WINDOW = 8
/** Windows of a pattern among which the table chooses the rarest. */
const CANDIDATES = 24

export interface HashBases {
  /** Odd numbers that nobody else knows: of windows, and two of whole patterns. */
  readonly window: number
  readonly first: number
  readonly second: number
}

export interface Pattern {
  readonly length: number
  readonly first: number
  readonly second: number
  /** The bases to the power of `length`. */
  readonly first_power: number
  readonly second_power: number
  /** Hashes of its first windows, by where each begins. */
  readonly windows: Int32Array
}

export const power = (base: number, exponent: number): number => {
  let result = 1
  let square = base
  for (let left = exponent; left > 0; left >>>= 1) {
    if ((left & 1) === 1) result = Math.imul(result, square)
    square = Math.imul(square, square)
  }
  return result
}

/** Units that one step hashes. */
const STEP = 32 * 1024

/** Of a text of at least `WINDOW` units, in steps. */
export function* patternOf(text: string, { window, first, second }: HashBases): Steps<Pattern> {
  if (text.length < WINDOW) throw new RangeError(`a pattern has at least ${WINDOW} characters`)
  const windows = new Int32Array(Math.min(CANDIDATES, text.length - WINDOW + 1))
  for (let at = 0; at < windows.length; at++) {
    let hash = 0
    for (let unit = at; unit < at + WINDOW; unit++) hash = (Math.imul(hash, window) + text.charCodeAt(unit)) | 0
    windows[at] = hash
  }
  let one = 0
  let two = 0
  for (let at = 0; at < text.length; yield) {
    for (const end = Math.min(at + STEP, text.length); at < end; at++) {
      const unit = text.charCodeAt(at)
      one = (Math.imul(one, first) + unit) | 0
      two = (Math.imul(two, second) + unit) | 0
    }
  }
  const { length } = text
  return {
    length,
    first: one,
    second: two,
    first_power: power(first, length),
    second_power: power(second, length),
    windows,
  }
}

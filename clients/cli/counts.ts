import { usage } from './failure.ts'

/** Parsers of numeric options, for commander; the refusal names the flag. */

export const countOf = (flag: string): ((text: string) => number) =>
  checked(flag, /^[1-9]\d{0,8}$/, 'a positive integer')

export const wholeOf = (flag: string): ((text: string) => number) => checked(flag, /^\d{1,15}$/, 'a whole number')

export const numberOf = (flag: string): ((text: string) => number) => checked(flag, /^\d+(\.\d+)?$/, 'a number')

const checked = (flag: string, shape: RegExp, what: string) => (text: string) => {
  if (!shape.test(text)) throw usage(`${flag} is ${JSON.stringify(text)}; expected ${what}.`)
  return Number(text)
}

import { limits } from '../../protocol/limits.ts'
import { MESSAGE_REFERENCE_PATTERN } from '../../protocol/names.ts'
import { usage } from './failure.ts'

/** Inputs of runs on a command line: a value is JSON if it is valid JSON, otherwise a text. */

const NAME = new RegExp(MESSAGE_REFERENCE_PATTERN)

/** Parses a repeatable option for commander: `-p window=12`. */
export function givenInput(text: string, before: Record<string, unknown> = {}): Record<string, unknown> {
  const [name, value] = split(text, '-p')
  if (Object.hasOwn(before, name)) throw usage(`-p gives ${name} twice.`)
  return { ...before, [name]: givenValue(value) }
}

/** The same for lists: `--param window=6,12,24`. A comma within brackets or quotes belongs to the value. */
export function givenList(text: string, before: Record<string, unknown[]> = {}): Record<string, unknown[]> {
  const [name, values] = split(text, '--param')
  if (Object.hasOwn(before, name)) throw usage(`--param gives ${name} twice; give all its values in one --param.`)
  return { ...before, [name]: parts(values).map(givenValue) }
}

/** Every combination of the values, the last name changing fastest. */
export function product(lists: Readonly<Record<string, readonly unknown[]>>): Record<string, unknown>[] {
  const count = Object.values(lists).reduce((total, values) => total * values.length, 1)
  if (count > limits.EXPORT_RUNS) throw usage(`That is ${count} runs; a sweep has at most ${limits.EXPORT_RUNS}.`)
  return Object.entries(lists).reduce<Record<string, unknown>[]>(
    (entries, [name, values]) => entries.flatMap(entry => values.map(value => ({ ...entry, [name]: value }))),
    [{}],
  )
}

function split(text: string, flag: string): [name: string, value: string] {
  const at = text.indexOf('=')
  const name = text.slice(0, at)
  if (at < 1 || !NAME.test(name)) throw usage(`${flag} is ${JSON.stringify(text)}; expected <name>=<value>.`)
  return [name, text.slice(at + 1)]
}

/** The value of the text if it is valid JSON, otherwise the text. */
export function givenValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function parts(text: string): string[] {
  const found: string[] = []
  let depth = 0
  let isQuoted = false
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (isQuoted) {
      if (character === '\\') at++
      else if (character === '"') isQuoted = false
    } else if (character === '"') isQuoted = true
    else if ('[{'.includes(character)) depth++
    else if (']}'.includes(character)) depth--
    else if (character === ',' && depth <= 0) {
      found.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...found, text.slice(start)]
}

import type { Message } from '../../../../protocol/nouns/message.ts'

/** The rows of the tree of messages: each flow, and below it, while it is open, its messages. */
export type Row =
  | { readonly kind: 'flow'; readonly name: string; readonly count: number; readonly is_open: boolean }
  | { readonly kind: 'message'; readonly message: Message; readonly short: string }

/**
 * A filter: words with `*`, all of which the name must have somewhere, and `>11`, `<3`, `=x` for the latest value. Letters are alike, large or small.
 */
export function matcherOf(filter: string): (message: Message) => boolean {
  const tests = filter
    .split(/[\s,]+/)
    .filter(word => word !== '')
    .map(wordTest)
  return message => tests.every(test => test(message))
}

function wordTest(word: string): (message: Message) => boolean {
  const compared = /^([<>=])(.+)$/.exec(word)
  if (compared !== null) {
    const [, sign, text] = compared
    const bound = Number(text)
    if (sign === '=') return ({ value }) => String(value) === text
    return ({ value }) => typeof value === 'number' && (sign === '>' ? value > bound : value < bound)
  }
  const pattern = word
    .toLowerCase()
    .split('*')
    .map(part => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*')
  const whole = word.includes('*') ? new RegExp(`^${pattern}$`) : new RegExp(pattern)
  return ({ name }) => whole.test(name.toLowerCase())
}

/** Flows by name, messages by name. With `isFlat` there are no rows of flows, and messages stand with their whole names. */
export function rowsOf(messages: readonly Message[], closed: ReadonlySet<string>, isFlat: boolean): Row[] {
  const sorted = messages.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  if (isFlat) return sorted.map(message => ({ kind: 'message', message, short: message.name }))
  const by_flow = Map.groupBy(sorted, ({ name }) => name.slice(0, name.indexOf('.')))
  const rows: Row[] = []
  for (const [name, of] of by_flow) {
    const is_open = !closed.has(name)
    rows.push({ kind: 'flow', name, count: of.length, is_open })
    if (is_open)
      for (const message of of) rows.push({ kind: 'message', message, short: message.name.slice(name.length + 1) })
  }
  return rows
}

/** What somebody typed as a value of the dtype; a sentence where it is none. */
export function typedValue(text: string, dtype: string): { value: unknown } | { wrong: string } {
  const trimmed = text.trim()
  switch (dtype) {
    case 'str':
      return { value: text }
    case 'bool':
      if (/^(true|yes|1)$/i.test(trimmed)) return { value: true }
      if (/^(false|no|0)$/i.test(trimmed)) return { value: false }
      return { wrong: 'A bool is yes or no.' }
    case 'int':
      return /^-?\d+$/.test(trimmed) && Number.isSafeInteger(Number(trimmed))
        ? { value: Number(trimmed) }
        : { wrong: 'An int is a whole number.' }
    case 'float':
      return trimmed !== '' && Number.isFinite(Number(trimmed))
        ? { value: Number(trimmed) }
        : { wrong: 'A float is a number, such as 20.5.' }
    default:
      try {
        return { value: JSON.parse(text) }
      } catch {
        return { wrong: 'This is not JSON.' }
      }
  }
}

/**
 * Canonical JSON (RFC 8785, JCS): equal values give equal texts, in every language that can write them. Keys stand in the
 * order of their UTF-16 code units, numbers as ECMAScript writes them (so -0 is 0), nothing between the tokens, members
 * that are undefined left out.
 *
 * A TypeError for what the RFC has no text for: NaN, infinity, half of a surrogate pair, undefined outside an object, functions
 * and the like. What users send was checked before it comes here. For values at most some hundred levels deep.
 */
export function canonical(value: unknown): string {
  return write(value, refuseHalves, null)
}

/**
 * The same text wherever the RFC has one, and one for half of a surrogate pair too, escaped as JSON.stringify does: what a
 * user once saved always has a text to compare it by. With a `view`, each object in the value, outermost first, is taken for
 * what the view makes of it.
 */
export function keyText(value: unknown, view: View | null = null): string {
  return write(value, JSON.stringify, view)
}

export type View = (object: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
type WriteText = (text: string) => string

function write(value: unknown, text: WriteText, view: View | null): string {
  switch (typeof value) {
    case 'string':
      return text(value)
    case 'number':
      return Number.isFinite(value) ? String(value) : refuse(String(value))
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value)
        ? writeList(value, text, view)
        : writeObject(value as Record<string, unknown>, text, view)
    default:
      return refuse(typeof value)
  }
}

function writeList(list: readonly unknown[], text: WriteText, view: View | null): string {
  // JSON.stringify writes numbers as the RFC does, without a text in between for each: a list of 1 MiB takes a third.
  if (list.length >= LONG && (isAll(list, isNumber) || isAll(list, text === refuseHalves ? isWellFormed : isText)))
    return JSON.stringify(list)
  let written = '['
  for (let index = 0; index < list.length; index++) {
    if (index > 0) written += ','
    written += write(list[index], text, view)
  }
  return `${written}]`
}

/** Lists of so many items are looked over for what JSON.stringify can write at once. */
const LONG = 64
const isNumber = (item: unknown): boolean => Number.isFinite(item)
const isText = (item: unknown): boolean => typeof item === 'string'
const isWellFormed = (item: unknown): boolean => typeof item === 'string' && item.isWellFormed()

/** Holes are looked at too: `every` passes them over. */
function isAll(list: readonly unknown[], isOne: (item: unknown) => boolean): boolean {
  for (let index = 0; index < list.length; index++) if (!isOne(list[index])) return false
  return true
}

function writeObject(object: Readonly<Record<string, unknown>>, text: WriteText, view: View | null): string {
  const seen = view === null ? object : view(object)
  let written = '{'
  // Without a comparison of our own, sort compares by UTF-16 code units.
  for (const key of Object.keys(seen).sort()) {
    const member = seen[key]
    if (member === undefined) continue
    if (written.length > 1) written += ','
    written += `${text(key)}:${write(member, text, view)}`
  }
  return `${written}}`
}

const refuseHalves: WriteText = text =>
  text.isWellFormed() ? JSON.stringify(text) : refuse('half of a surrogate pair')

function refuse(what: string): never {
  throw new TypeError(`canonical JSON has no text for ${what}`)
}

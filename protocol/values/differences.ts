import { keyText } from './canonical-json.ts'

/** One place where two documents differ. `before` is absent for what was added, `after` for what was removed. */
export interface Difference {
  /** JSON pointer (RFC 6901): into `after`; of what was removed, into `before`. */
  path: string
  before?: unknown
  after?: unknown
}

/** Items are matched by a key, so that one inserted in front does not make all that follow differ; a change of their order is one difference. */
export function compareKeyed<Item>(
  path: string,
  before: readonly Item[],
  after: readonly Item[],
  keyOf: (item: Item) => string,
  found: Difference[],
  compareItems: (path: string, before: Item, after: Item) => void = (at, old, item) =>
    compareValues(at, old, item, found),
): void {
  const old = new Map(before.map(item => [keyOf(item), item]))
  const now = new Set(after.map(keyOf))
  before.forEach((item, index) => {
    if (!now.has(keyOf(item))) found.push({ path: `${path}/${index}`, before: item })
  })
  after.forEach((item, index) => {
    const previous = old.get(keyOf(item))
    if (previous === undefined) found.push({ path: `${path}/${index}`, after: item })
    else compareItems(`${path}/${index}`, previous, item)
  })
  const keptBefore = before.map(keyOf).filter(key => now.has(key))
  const keptAfter = after.map(keyOf).filter(key => old.has(key))
  if (keptBefore.some((key, index) => key !== keptAfter[index]))
    found.push({ path, before: keptBefore, after: keptAfter })
}

export function compareValues(path: string, before: unknown, after: unknown, found: Difference[]): void {
  if (isTree(before) && isTree(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const at = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
      if (!Object.hasOwn(after, key)) found.push({ path: at, before: before[key] })
      else if (!Object.hasOwn(before, key)) found.push({ path: at, after: after[key] })
      else compareValues(at, before[key], after[key], found)
    }
  } else if (keyText(before) !== keyText(after)) found.push({ path, before, after })
}

const isTree = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

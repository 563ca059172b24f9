/**
 * What a list of runs may ask beside its selection: comparisons, an order, and columns. A field is a value that a run has:
 *
 *   where   input.lr<0.1   metric.loss<=0.5   result.kind="a b"   input.mode!=fast   duration>60
 *   sort    metric.loss    -input.lr          -created_at
 *
 * The value is JSON, or else the text as it stands. Numbers are compared with numbers and texts with texts, by code units; a run that
 * lacks the field, or has something else there, does not fit, whatever the comparison.
 */
export const FIELD_KINDS = ['input', 'result', 'metric'] as const
export const FIELD_NAMES = ['duration', 'seed', 'created_at'] as const

export interface RunField {
  readonly kind: (typeof FIELD_KINDS)[number] | (typeof FIELD_NAMES)[number]
  /** Dotted; of a metric its name, or the end of it. Empty for those that are no tree. */
  readonly path: string
  /** As it was written. */
  readonly text: string
}

const OPERATORS = ['<=', '>=', '!=', '=', '<', '>'] as const
export type Operator = (typeof OPERATORS)[number]

export interface Comparison {
  readonly field: RunField
  readonly operator: Operator
  readonly value: unknown
}

export interface RunOrder {
  readonly field: RunField
  readonly descending: boolean
}

/** Null: it is not a field. */
export function parseField(text: string): RunField | null {
  const name = FIELD_NAMES.find(one => one === text)
  if (name !== undefined) return { kind: name, path: '', text }
  const dot = text.indexOf('.')
  const kind = FIELD_KINDS.find(one => one === text.slice(0, dot))
  const path = text.slice(dot + 1)
  return dot < 0 || kind === undefined || path === '' || path !== path.trim() ? null : { kind, path, text }
}

/** Null: it is not a comparison. The first operator counts: one inside a name cannot be asked for. */
export function parseComparison(text: string): Comparison | null {
  const at = text.search(/[<>=!]/)
  if (at < 0) return null
  const operator = OPERATORS.find(one => text.startsWith(one, at))
  const field = parseField(text.slice(0, at).trim())
  if (operator === undefined || field === null) return null
  const written = text.slice(at + operator.length).trim()
  return written === '' ? null : { field, operator, value: jsonOrText(written) }
}

export function parseOrder(text: string): RunOrder | null {
  const descending = text.startsWith('-')
  const field = parseField(descending ? text.slice(1) : text)
  return field === null ? null : { field, descending }
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** Does the value of a run fit? `undefined`: it has none. */
export function fits(value: unknown, { operator, value: wanted }: Comparison): boolean {
  if (value === undefined) return false
  if (operator === '=' || operator === '!=') return isEqual(value, wanted) === (operator === '=')
  const isComparable = typeof value === typeof wanted && (typeof value === 'number' || typeof value === 'string')
  if (!isComparable) return false
  const order = compare(value, wanted)
  switch (operator) {
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

const isEqual = (a: unknown, b: unknown): boolean =>
  typeof a === 'object' && a !== null ? JSON.stringify(a) === JSON.stringify(b) : a === b

const RANKS = ['number', 'string', 'boolean', 'object']

/** For an order of any values: numbers, then texts, booleans, all else; those of one rank by their value. */
export function compare(a: unknown, b: unknown): number {
  const ranks = RANKS.indexOf(typeof a) - RANKS.indexOf(typeof b)
  if (ranks !== 0) return ranks
  if (typeof a === 'object') return 0
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0
}

/** Members that one path may lead through. */
const DEPTH = 16

/** The value at a dotted path, keys that hold dots included; undefined when there is none. */
export function valueAt(tree: unknown, path: string, depth: number = DEPTH): unknown {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return undefined
  if (Object.hasOwn(tree, path)) return (tree as Record<string, unknown>)[path]
  if (depth === 0) return undefined
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const key = path.slice(0, dot)
    if (!Object.hasOwn(tree, key)) continue
    const found = valueAt((tree as Record<string, unknown>)[key], path.slice(dot + 1), depth - 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** Dotted paths of a tree's leaves; lists are leaves. */
export function* pathsOf(tree: unknown, before = ''): Generator<string, void, undefined> {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) {
    if (before !== '') yield before
    return
  }
  for (const [key, value] of Object.entries(tree)) yield* pathsOf(value, before === '' ? key : `${before}.${key}`)
}

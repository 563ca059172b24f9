import type { ErrorCode } from '../errors.ts'
import { limits } from '../limits.ts'
import { describe, place } from './describe.ts'

/** Why a value cannot travel. `text` is a whole sentence without a full stop. */
export interface Refusal {
  code: ErrorCode
  text: string
}

/**
 * May the value travel as JSON? Only null, booleans, finite numbers, strings, lists without holes and plain objects; at most
 * 64 levels deep. One walk; it allocates nothing while the value is fine. Nothing is dropped or converted on the quiet: what
 * JSON.stringify would leave out (undefined, functions) or rewrite (dates, instances of classes) is refused and named.
 */
export function refuseUnlessJson(value: unknown, budget: Budget): Refusal | null {
  return walk(value, 0, budget) ? null : { code: budget.code, text: budget.sentence() }
}

/**
 * What one walk may spend, and what it found. Reused: `reset` before each walk.
 * The bytes counted are a lower bound of the encoded size, so that a value far over the bound is refused before it is packed.
 */
export class Budget {
  bytes = 0
  /** Members, objects and lists. */
  parts = 0
  /** False when a string or key holds half of a surrogate pair. */
  well_formed = true
  code: ErrorCode = 'wrong_dtype'
  readonly #limit: number
  /** Innermost first. */
  readonly #path: (string | number)[] = []
  #found = ''

  constructor(limit: number) {
    this.#limit = limit
  }

  reset(): this {
    this.bytes = 0
    this.parts = 0
    this.well_formed = true
    return this
  }

  get spent(): boolean {
    return this.bytes > this.#limit || this.parts > limits.VALUE_PARTS
  }

  tooLarge(): false {
    const found =
      this.parts > limits.VALUE_PARTS
        ? `more than ${limits.VALUE_PARTS} members, objects and lists`
        : `more than ${this.#limit} bytes`
    return this.refuse('value_too_large', found)
  }

  refuse(code: ErrorCode, found: string): false {
    this.code = code
    this.#found = found
    this.#path.length = 0
    return false
  }

  /** On the way back from a refusal: the key that led there. */
  under(key: string | number): false {
    this.#path.push(key)
    return false
  }

  sentence(): string {
    if (this.#path.length === 0) return this.#found
    const steps = this.#path.slice(-8).reverse()
    const at = steps.reduce<string>((root, key) => place(root, key), '')
    return `${this.#found} at ${at}${this.#path.length > steps.length ? '...' : ''}`
  }
}

function walk(value: unknown, depth: number, budget: Budget): boolean {
  switch (typeof value) {
    case 'number':
      budget.bytes += 1
      return Number.isFinite(value) || budget.refuse('not_finite', String(value))
    case 'string':
      return text(value, budget)
    case 'boolean':
      budget.bytes += 1
      return true
    case 'object':
      if (value === null) {
        budget.bytes += 1
        return true
      }
      if (depth >= limits.VALUE_DEPTH)
        return budget.refuse(
          'too_deep',
          `nested more than ${limits.VALUE_DEPTH} levels, or a value that contains itself`,
        )
      return Array.isArray(value) ? items(value, depth, budget) : entries(value, depth, budget)
    case 'undefined':
      return budget.refuse('wrong_dtype', 'undefined; leave the key out, or send null')
    case 'bigint':
      return budget.refuse('wrong_dtype', 'a BigInt; send a number or a string')
    default:
      return budget.refuse('wrong_dtype', describe(value))
  }
}

function text(value: string, budget: Budget): boolean {
  budget.bytes += value.length + 1
  if (budget.spent) return budget.tooLarge()
  if (!value.isWellFormed()) budget.well_formed = false
  return true
}

function items(value: readonly unknown[], depth: number, budget: Budget): boolean {
  budget.bytes += 1
  budget.parts++
  if (budget.spent) return budget.tooLarge()
  for (let index = 0; index < value.length; index++) {
    if (budget.spent) return budget.tooLarge()
    const item = value[index]
    // Long lists are mostly numbers: no call for each.
    if (typeof item === 'number' && Number.isFinite(item)) budget.bytes += 1
    else if (!walk(item, depth + 1, budget)) return budget.under(index)
  }
  return true
}

function entries(value: object, depth: number, budget: Budget): boolean {
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    const name = (prototype as { constructor?: { name?: unknown } }).constructor?.name
    return budget.refuse(
      'wrong_dtype',
      `an instance of ${String(name || 'a class')}; send a plain object, list or text`,
    )
  }
  budget.bytes += 1
  const keys = Object.keys(value)
  budget.parts += 1 + keys.length
  if (budget.spent) return budget.tooLarge()
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!
    if (key === '__proto__') return budget.refuse('wrong_dtype', 'the key "__proto__", which is not allowed')
    if (!text(key, budget)) return false
    if (!walk((value as Record<string, unknown>)[key], depth + 1, budget)) return budget.under(key)
  }
  return true
}

/** The same value with each lone half of a surrogate pair replaced by U+FFFD, as UTF-8 does. */
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(wellFormed)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]))
}

import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { ErrorPlace } from '../errors.ts'
import { limits } from '../limits.ts'
import { MAIL_PATTERN, MESSAGE_REFERENCE_PATTERN, NAME_PATTERN, QUALIFIED_PATTERN } from '../names.ts'
import { describe, place } from './describe.ts'

/**
 * Says what is wrong with a value, one readable sentence a place. Checking is TypeBox's compiled validator; only a value that
 * it refused is walked here along the schema, because the validator's own errors name every branch of a union and stop after eight.
 */
export interface Checker {
  /** Nothing when the value fits; else at most `limits.ERROR_PLACES` places in document order. */
  refusals(value: unknown, root?: string): ErrorPlace[]
}

/** Once per schema, at module level. The schema is compiled (up to 30 ms) when the first value comes. */
export function createChecker(schema: TSchema): Checker {
  let validator: ReturnType<typeof Compile> | undefined
  return {
    refusals(value, root = '') {
      validator ??= Compile(schema)
      if (validator.Check(value)) return []
      const places = new Places()
      explain(schema as Schema, value, root, places)
      // The walk knows the keywords that our schemas use; should it find nothing, the validator's words are better than none.
      if (places.list.length === 0)
        for (const error of validator.Errors(value))
          places.add(pointerToPlace(root, error.instancePath), error.message ?? 'is refused')
      return places.list
    },
  }
}

/** The JSON Schema keywords that TypeBox writes for our schemas; a test of the routes finds others. */
interface Schema {
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  patternProperties?: Record<string, Schema>
  items?: Schema
  minItems?: number
  maxItems?: number
  uniqueItems?: boolean
  minLength?: number
  maxLength?: number
  pattern?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  description?: string
}

class Places {
  readonly list: ErrorPlace[] = []
  get full(): boolean {
    return this.list.length >= limits.ERROR_PLACES
  }
  add(loc: string, msg: string): void {
    if (!this.full) this.list.push({ loc: loc === '' ? '(document)' : loc, msg })
  }
}

function explain(schema: Schema, value: unknown, at: string, places: Places): void {
  if (schema.anyOf) {
    explainUnion(schema.anyOf, value, at, places)
    return
  }
  if ('const' in schema) {
    if (value !== schema.const) places.add(at, `must be ${describe(schema.const)}, not ${describe(value)}`)
    return
  }
  if (schema.enum) {
    if (!schema.enum.includes(value)) places.add(at, `must be ${named(schema)}, not ${describe(value)}`)
    return
  }
  if (schema.type && !isType(schema.type, value)) {
    places.add(at, `must be ${named(schema)}, not ${describe(value)}`)
    return
  }
  if (schema.type === 'object') explainObject(schema, value as Record<string, unknown>, at, places)
  else if (schema.type === 'array') explainArray(schema, value as unknown[], at, places)
  else if (schema.type === 'string') explainString(schema, value as string, at, places)
  else if (schema.type === 'number' || schema.type === 'integer') explainNumber(schema, value as number, at, places)
}

function explainUnion(branches: readonly Schema[], value: unknown, at: string, places: Places): void {
  if (branches.every(branch => 'const' in branch)) {
    if (branches.some(branch => branch.const === value)) return
    places.add(at, `must be ${list(branches.map(branch => describe(branch.const)))}, not ${describe(value)}`)
    return
  }
  const candidates = branches.filter(branch => mayMean(branch, value))
  if (candidates.length === 0) {
    places.add(at, `must be ${named({ anyOf: [...branches] })}, not ${describe(value)}`)
    return
  }
  // Of several that fit the type, the one with the fewest complaints is what was meant.
  let best: Places | null = null
  for (const branch of candidates) {
    const own = new Places()
    explain(branch, value, at, own)
    if (own.list.length === 0) return
    if (best === null || own.list.length < best.list.length) best = own
  }
  for (const { loc, msg } of best!.list) places.add(loc, msg)
}

/** Right type, and where the branch names itself by a constant (`type: 'subscribe'`) that constant. */
function mayMean(branch: Schema, value: unknown): boolean {
  if (branch.anyOf) return branch.anyOf.some(inner => mayMean(inner, value))
  if ('const' in branch) return branch.const === value
  if (branch.enum) return branch.enum.includes(value)
  if (branch.type && !isType(branch.type, value)) return false
  if (branch.type !== 'object') return true
  return Object.entries(branch.properties ?? {}).every(
    ([key, inner]) => !('const' in inner) || inner.const === own(value as Record<string, unknown>, key),
  )
}

function explainObject(schema: Schema, value: Record<string, unknown>, at: string, places: Places): void {
  const properties = schema.properties ?? {}
  for (const key of schema.required ?? []) if (own(value, key) === undefined) places.add(place(at, key), 'is missing')
  for (const [key, inner] of Object.entries(properties)) {
    const item = own(value, key)
    if (item !== undefined) explain(inner, item, place(at, key), places)
    if (places.full) return
  }
  const patterns = Object.entries(schema.patternProperties ?? {}).map(
    ([pattern, inner]) => [new RegExp(pattern), inner] as const,
  )
  for (const key of Object.keys(value)) {
    if (places.full) return
    if (Object.hasOwn(properties, key)) continue
    const matched = patterns.find(([pattern]) => pattern.test(key))
    if (matched) explain(matched[1], value[key], place(at, key), places)
    else if (schema.additionalProperties === false)
      places.add(place(at, key), `is not a known key; known are ${Object.keys(properties).join(', ') || 'none'}`)
    else if (typeof schema.additionalProperties === 'object')
      explain(schema.additionalProperties, value[key], place(at, key), places)
  }
}

function explainArray(schema: Schema, value: unknown[], at: string, places: Places): void {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  if (value.length > maxItems) {
    places.add(at, `has ${value.length} items; at most ${maxItems} are allowed`)
    return
  }
  if (value.length < minItems) places.add(at, `has ${value.length} items; at least ${minItems} are needed`)
  for (let index = 0; index < value.length && !places.full; index++)
    if (schema.items) explain(schema.items, value[index], place(at, index), places)
  if (schema.uniqueItems) explainTwice(value, at, places)
}

function explainTwice(value: unknown[], at: string, places: Places): void {
  const seen = new Set<string | undefined>()
  for (let index = 0; index < value.length && !places.full; index++) {
    const text = JSON.stringify(value[index])
    if (seen.has(text)) places.add(place(at, index), `${describe(value[index])} is in the list already`)
    seen.add(text)
  }
}

function explainString(schema: Schema, value: string, at: string, places: Places): void {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema
  if (value.length > maxLength) places.add(at, `has ${value.length} characters; at most ${maxLength} are allowed`)
  else if (value.length < minLength)
    places.add(
      at,
      minLength === 1 ? 'must not be empty' : `has ${value.length} characters; at least ${minLength} are needed`,
    )
  else if (schema.pattern && !new RegExp(schema.pattern).test(value)) {
    const hint = schema.description ? ` (${schema.description})` : ''
    const meaning = MEANINGS[schema.pattern]
    places.add(at, `${describe(value)} ${meaning ? `is not ${meaning}` : `does not match ${schema.pattern}${hint}`}`)
  }
}

const NAME = 'letters, digits, _ and -, at most 64, no digit or - first'
const MEANINGS: Readonly<Record<string, string>> = {
  [MAIL_PATTERN]: 'one mail address',
  [NAME_PATTERN]: `a name (${NAME})`,
  [QUALIFIED_PATTERN]: `a name with its flow, "flow.name" (each ${NAME})`,
  [MESSAGE_REFERENCE_PATTERN]: `a message, "name" or "flow.name" (each ${NAME})`,
}

function explainNumber(schema: Schema, value: number, at: string, places: Places): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (minimum !== undefined && value < minimum) places.add(at, `must be at least ${minimum}, not ${value}`)
  else if (maximum !== undefined && value > maximum) places.add(at, `must be at most ${maximum}, not ${value}`)
  else if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    places.add(at, `must be more than ${exclusiveMinimum}, not ${value}`)
  else if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    places.add(at, `must be less than ${exclusiveMaximum}, not ${value}`)
}

function isType(type: string, value: unknown): boolean {
  switch (type) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'array':
      return Array.isArray(value)
    case 'null':
      return value === null
    case 'integer':
      return Number.isInteger(value)
    case 'number':
      return Number.isFinite(value)
    default:
      return typeof value === type
  }
}

const NAMES: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  string: 'a string',
  number: 'a finite number',
  integer: 'an integer',
  boolean: 'true or false',
  null: 'null',
}

const named = (schema: Schema): string => list([...new Set(namesOf(schema))])

const namesOf = (schema: Schema): string[] =>
  schema.anyOf
    ? schema.anyOf.flatMap(namesOf)
    : 'const' in schema
      ? [describe(schema.const)]
      : (schema.enum?.map(describe) ?? [NAMES[schema.type ?? ''] ?? 'another value'])

const list = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`

/** Own keys only: a document without `constructor` has none, whatever its prototype says. */
const own = (value: Record<string, unknown>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : undefined

function pointerToPlace(root: string, pointer: string): string {
  let at = root
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = place(at, /^\d+$/.test(key) ? Number(key) : key)
  }
  return at
}

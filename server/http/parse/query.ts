import type { TObject } from 'typebox'
import { type ErrorPlace, ServiceError } from '../../../protocol/errors.ts'
import { type Checker, createChecker } from '../../../protocol/values/explain.ts'

const INTEGER = /^-?\d{1,16}$/
const NUMBER = /^-?\d{1,16}(\.\d{1,16})?([eE][+-]?\d{1,3})?$/

/** Reads the query of a route: converts members to their declared types and refuses unknown ones. A list of texts is a member that may be repeated. */
export class QueryReader {
  readonly #schema: TObject
  readonly #checker: Checker
  readonly #defaults: Readonly<Record<string, unknown>>
  readonly #lists = new Set<string>()

  constructor(schema: TObject) {
    this.#schema = schema
    this.#checker = createChecker(schema)
    const defaults: Record<string, unknown> = {}
    for (const [name, member] of Object.entries(schema.properties)) {
      const value = (member as { default?: unknown }).default
      if (value !== undefined) defaults[name] = value
      if ((member as { type?: string }).type === 'array') this.#lists.add(name)
    }
    this.#defaults = defaults
  }

  /** Throws `validation` with the places `query.<name>`. */
  read(text: string): unknown {
    const values: Record<string, unknown> = { ...this.#defaults }
    const refused: ErrorPlace[] = []
    const seen = new Set<string>()
    if (text !== '')
      for (const pair of text.split('&')) {
        if (pair === '') continue
        const equals = pair.indexOf('=')
        const name = decodeForm(equals < 0 ? pair : pair.slice(0, equals))
        const raw = equals < 0 ? '' : decodeForm(pair.slice(equals + 1))
        if (name === null || raw === null) refused.push({ loc: 'query', msg: 'is not percent-encoded UTF-8' })
        else if (!Object.hasOwn(this.#schema.properties, name))
          refused.push({ loc: `query.${name}`, msg: 'is not known to this route' })
        else if (this.#lists.has(name)) values[name] = [...((values[name] as string[] | undefined) ?? []), raw]
        else if (seen.has(name)) refused.push({ loc: `query.${name}`, msg: 'is given twice' })
        else {
          seen.add(name)
          values[name] = convert((this.#schema.properties[name] as { type?: string }).type, raw)
        }
      }
    refused.push(...this.#checker.refusals(values, 'query'))
    if (refused.length > 0) throw new ServiceError('validation', 'The query was refused.', { errors: refused })
    return values
  }
}

/** A value that cannot be converted stays text, and is then refused by the schema with its place. */
function convert(type: string | undefined, raw: string): unknown {
  if (type === 'integer' && INTEGER.test(raw)) return Number(raw)
  if (type === 'number' && NUMBER.test(raw)) return Number(raw)
  if (type === 'boolean' && (raw === 'true' || raw === 'false')) return raw === 'true'
  return raw
}

/** `application/x-www-form-urlencoded` text; null when it is not UTF-8. */
export function decodeForm(text: string): string | null {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}

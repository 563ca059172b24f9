import type { TSchema } from 'typebox'
import * as client from '../../../protocol/nouns/accounts/client.ts'
import * as secret from '../../../protocol/nouns/accounts/secret.ts'
import * as user from '../../../protocol/nouns/accounts/user.ts'
import * as artifact from '../../../protocol/nouns/artifact.ts'
import * as cascade from '../../../protocol/nouns/cascade.ts'
import * as dashboard from '../../../protocol/nouns/dashboard.ts'
import * as event from '../../../protocol/nouns/event.ts'
import * as flavor from '../../../protocol/nouns/flavor.ts'
import * as flow from '../../../protocol/nouns/flow.ts'
import * as document from '../../../protocol/nouns/flow-document.ts'
import * as issue from '../../../protocol/nouns/issue.ts'
import * as message from '../../../protocol/nouns/message.ts'
import * as node from '../../../protocol/nouns/node.ts'
import * as nodeError from '../../../protocol/nouns/node-error.ts'
import * as panel from '../../../protocol/nouns/panel.ts'
import * as run from '../../../protocol/nouns/run.ts'
import * as found from '../../../protocol/nouns/search/found.ts'
import * as summary from '../../../protocol/nouns/summary.ts'
import * as dtype from '../../../protocol/values/dtype.ts'
import * as resources from '../../../protocol/worker/resources.ts'

export type Json = Record<string, unknown>

const MODULES = [
  ...[artifact, cascade, event, flavor, flow, document, issue, message, node, nodeError, run, summary, user, dtype],
  ...[resources, client, dashboard, found, panel, secret],
]

/** Schemas that are exported under a name and are more than a string with a pattern: objects, lists, records and words. */
const isNoun = (value: unknown): value is TSchema =>
  typeof value === 'object' &&
  value !== null &&
  (('type' in value && (value.type === 'object' || value.type === 'array')) || 'anyOf' in value)

const named = new Map<unknown, string>(
  MODULES.flatMap(module => Object.entries(module)).flatMap(([name, value]) =>
    isNoun(value) && /^[A-Z][a-z]/.test(name) ? [[value, name] as const] : [],
  ),
)

/**
 * Writes schemas with the nouns in them as references, and keeps the nouns that it has referred to. Wherever the very object stands
 * that `protocol/` exports, its name is written; a list of nouns gets a name from the noun.
 */
export class Nouns {
  readonly #written = new Map<string, unknown>()
  readonly #lists = new Map<string, string>()

  /** The schemas that were referred to, by name, in the order of their names. */
  get schemas(): Json {
    return Object.fromEntries([...this.#written].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** `name` is given to an object that has none of its own; without one it is written in place. */
  write(schema: unknown, name: string | null = null): unknown {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return this.#inside(schema)
    const noun = named.get(schema)
    if (noun !== undefined) return this.#refer(noun, () => this.#inside(schema))
    const list = this.#listName(schema as Json)
    if (list !== null) return this.#refer(list, () => this.#inside(schema))
    const isObject = (schema as Json)['type'] === 'object'
    if (name !== null && isObject) return this.#refer(name, () => this.#inside(schema))
    return this.#inside(schema)
  }

  #refer(name: string, content: () => unknown): Json {
    if (!this.#written.has(name)) {
      // A noun may hold itself.
      this.#written.set(name, null)
      this.#written.set(name, content())
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  /** `{items: [Noun], count, ...}` is a `NounList`. */
  #listName(schema: Json): string | null {
    const properties = schema['properties'] as Record<string, Json> | undefined
    const items = properties?.['items']?.['items']
    const noun = named.get(items)
    if (noun === undefined || !('count' in properties!)) return null
    const name = `${noun}List`
    const text = JSON.stringify(schema)
    const known = this.#lists.get(name)
    if (known !== undefined && known !== text) return null
    this.#lists.set(name, text)
    return name
  }

  #inside(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map(item => this.write(item))
    if (typeof schema !== 'object' || schema === null) return schema
    const words = wordsOf(schema as Json)
    if (words !== null) {
      const { anyOf: _, ...rest } = schema as Json
      return { type: 'string', enum: words, ...rest }
    }
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.write(value)]))
  }
}

/** Of a choice between words alone. */
function wordsOf({ anyOf }: Json): string[] | null {
  if (!Array.isArray(anyOf) || anyOf.length === 0) return null
  const words = anyOf.map(({ const: word }: { const?: unknown }) => word)
  return words.every(word => typeof word === 'string') ? words : null
}

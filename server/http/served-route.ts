import Type, { type TObject, type TSchema } from 'typebox'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { type Checker, createChecker } from '../../protocol/values/explain.ts'
import type { Watched } from '../watch/front-watch.ts'
import { nextTurn } from '../watch/slices.ts'
import { isForm, isJson, parseForm, parseJson } from './parse/body.ts'
import { parseLargeJson } from './parse/large-json.ts'
import { QueryReader } from './parse/query.ts'
import type { Method, Route } from './route.ts'

interface CheckedParameter {
  readonly name: string
  readonly loc: string
  readonly checker: Checker
  readonly missing: ErrorCode | null
}

/** By the name of a parameter: what people call its values. */
const kindOf = (name: string): string =>
  name === 'flow' || name === 'node' ? 'name' : name === 'code' ? 'pairing code' : name.replaceAll('_', ' ')

const NO_QUERY: Readonly<Record<string, never>> = Object.freeze({})

/** A route with its schemas, each compiled when it is first needed, so that a start compiles none. */
export class ServedRoute implements Watched {
  readonly route: Route
  readonly label: string
  pending = 0
  readonly method: Method
  readonly path: string
  readonly head: boolean
  /** Bytes. */
  readonly body_limit: number
  #params: readonly CheckedParameter[] | null = null
  #query: QueryReader | null = null
  #body: Checker | null = null

  constructor(route: Route) {
    this.route = route
    this.method = route.method
    this.path = route.path
    this.head = route.head
    this.label = `${route.method} ${route.path}`
    this.body_limit = route.body_limit ?? limits.BODY_BYTES
  }

  /** Throws the 404 of what the path should name, or `validation` for the name of something to be created. */
  checkParams(params: Record<string, string>): void {
    this.#params ??= Object.entries(this.route.params).map(([name, { schema, missing }]) => ({
      name,
      loc: `path.${name}`,
      missing,
      checker: createChecker(schema),
    }))
    for (const { name, loc, checker, missing } of this.#params) {
      const errors = checker.refusals(params[name], loc)
      if (errors.length === 0) continue
      if (missing !== null)
        throw new ServiceError(missing, `${JSON.stringify(params[name])} is not a valid ${kindOf(name)}.`)
      throw new ServiceError('validation', 'The path was refused.', { errors })
    }
  }

  /** Throws `validation` with the places `query.<name>`. */
  readQuery(text: string): unknown {
    if (this.route.query !== null) return (this.#query ??= new QueryReader(this.route.query)).read(text)
    if (text === '' || this.route.any_query) return NO_QUERY
    const name = text.slice(0, 64).split(/[=&]/, 1)[0]!
    throw new ServiceError('validation', 'This route takes no query.', {
      errors: [{ loc: `query.${name}`, msg: 'is not known to this route' }],
    })
  }

  /** Throws `unsupported_media_type`, `malformed_json`, `too_deep` or `validation` with the places `body.…`. The bytes are not kept. */
  readBody(bytes: Uint8Array, content_type: string): unknown {
    if (this.route.form && !isForm(content_type) && !isJson(content_type))
      throw new ServiceError('unsupported_media_type', `Content-Type is ${JSON.stringify(content_type.slice(0, 80))}.`)
    return this.#checked(this.route.form && isForm(content_type) ? parseForm(bytes) : parseJson(bytes))
  }

  /** The same for a long body, in slices. The bytes must not change meanwhile. */
  async readLargeBody(bytes: Uint8Array, content_type: string): Promise<unknown> {
    if (this.route.form) return this.readBody(bytes, content_type)
    const most = this.body_limit > limits.BODY_BYTES ? Number.POSITIVE_INFINITY : limits.VALUE_PARTS
    const checked = this.#checked(await parseLargeJson(bytes, most))
    // The handler begins in the next turn, since checking 20,000 members has taken 10 ms.
    await nextTurn()
    return checked
  }

  #bodySchema(): TSchema {
    const { body, unchecked } = this.route
    if (unchecked.length === 0) return body!
    const { properties } = body as TObject
    const open = Object.fromEntries(unchecked.map(name => [name, Type.Unknown()]))
    return Type.Object({ ...properties, ...open }, { additionalProperties: false })
  }

  #checked(value: unknown): unknown {
    const errors = (this.#body ??= createChecker(this.#bodySchema())).refusals(value, 'body')
    if (errors.length > 0) throw new ServiceError('validation', 'The body was refused.', { errors })
    return value
  }
}

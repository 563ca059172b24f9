import assert from 'node:assert/strict'
import type { TSchema } from 'typebox'
import { errorTable, type Problem } from '../../protocol/errors.ts'
import { createChecker } from '../../protocol/values/explain.ts'
import { refusalsOf } from '../../server/http/openapi/describe.ts'
import type { Route } from '../../server/http/route.ts'
import { RouteTree } from '../../server/http/route-tree.ts'
import type { ServedFront } from './served-front.ts'

export interface Asked {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The JSON of the answer; undefined when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests say what they expect of it
  readonly json: any
}

export interface AskOptions {
  readonly as?: 'user' | 'superuser' | 'nobody'
  readonly body?: unknown
  /** In place of `body`, sent as it is. */
  readonly text?: string
  readonly headers?: Record<string, string>
}

const JSON_BODY = { 'content-type': 'application/json' }

/** Codes that come from the front itself, whatever the route. */
const FRONT_CODES = new Set(['malformed_request', 'method_not_allowed', 'not_found', 'too_many_connections'])

/**
 * Asks a front, and holds what it answers to what the route declares: a status that is declared, JSON of the schema that is
 * declared for it, a problem whose code the route says it can answer with.
 */
export class Asking {
  readonly #served: ServedFront
  readonly #tree: RouteTree<Route>

  constructor(served: ServedFront) {
    this.#served = served
    this.#tree = new RouteTree(served.routes)
  }

  async ask(method: string, target: string, options: AskOptions = {}): Promise<Asked> {
    const { as = 'user', body, text, headers = {} } = options
    const credential: Record<string, string> =
      as === 'nobody' ? {} : { authorization: `Bearer ${as === 'user' ? this.#served.user : this.#served.superuser}` }
    const answer = await fetch(this.#served.url + target, {
      method,
      headers: { ...credential, ...(body === undefined ? {} : JSON_BODY), ...headers },
      body: text ?? (body === undefined ? undefined : JSON.stringify(body)),
    })
    const bytes = await answer.text()
    const isJson = /\bjson\b/.test(answer.headers.get('content-type') ?? '') && bytes !== ''
    const asked = {
      status: answer.status,
      headers: answer.headers,
      text: bytes,
      json: isJson ? JSON.parse(bytes) : undefined,
    }
    this.#hold(method, target, asked)
    return asked
  }

  /** The status alone. */
  async status(method: string, target: string, options: AskOptions = {}): Promise<number> {
    return (await this.ask(method, target, options)).status
  }

  /** The problem that it is refused with. */
  async problem(method: string, target: string, options: AskOptions = {}): Promise<Problem> {
    const asked = await this.ask(method, target, options)
    assert.equal(asked.headers.get('content-type'), 'application/problem+json', `${method} ${target}: ${asked.text}`)
    return asked.json as Problem
  }

  async code(method: string, target: string, options: AskOptions = {}): Promise<string> {
    return (await this.problem(method, target, options)).code
  }

  /** The text of a 422. */
  async text422(target: string, as: 'user' | 'superuser'): Promise<string> {
    const asked = await this.ask('GET', target, { as })
    assert.equal(asked.status, 422, `GET ${target}: ${asked.text}`)
    return asked.text
  }

  #hold(method: string, target: string, asked: Asked): void {
    const what = `${method} ${target} answered ${asked.status} ${asked.text.slice(0, 300)}`
    const path = target.split('?', 1)[0]!
    assert.equal(asked.headers.get('x-content-type-options'), 'nosniff', what)
    assert.equal(asked.headers.get('cross-origin-resource-policy'), 'same-origin', what)
    const route = this.#tree.find(path, {})?.methods.get(method)
    if (asked.headers.get('content-type') === 'application/problem+json') {
      const problem = asked.json as Problem
      const row = errorTable[problem.code]
      assert.equal(asked.status, row.status, what)
      assert.deepEqual([problem.status, problem.title, problem.instance], [row.status, row.title, path], what)
      const declared: readonly string[] = route === undefined ? [] : refusalsOf(route)
      assert.ok(FRONT_CODES.has(problem.code) || declared.includes(problem.code), `not declared: ${what}`)
      if (asked.status === 429 || asked.status === 503) assert.match(asked.headers.get('retry-after') ?? '', /^\d+$/)
      return
    }
    if (route === undefined) return
    assert.ok(Object.hasOwn(route.answers, asked.status), `not declared: ${what}`)
    const shape = route.answers[asked.status]!
    if (shape === null) assert.equal(asked.text, '', what)
    else if ('media' in shape)
      assert.ok(
        [shape.media].flat().includes(asked.headers.get('content-type') ?? ''),
        `${what} is of a media type that is declared`,
      )
    else assert.deepEqual(createChecker(shape as TSchema).refusals(asked.json), [], what)
  }
}

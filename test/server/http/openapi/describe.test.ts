import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Value } from 'typebox/value'
import { errorTable } from '../../../../protocol/errors.ts'
import { BODIES } from '../../../../server/http/openapi/bodies.ts'
import { openapiOf, refusalsOf } from '../../../../server/http/openapi/describe.ts'
import { OPERATIONS, operationIdOf } from '../../../../server/http/openapi/operations.ts'
import type { Route } from '../../../../server/http/route.ts'
import { type ServedFront, serveFront } from '../../../kit/served-front.ts'
import { ROOT } from '../../../kit/sources.ts'

interface Operation {
  operationId: string
  summary: string
  tags: string[]
  security?: unknown[]
  'x-scope': string
  parameters?: {
    name: string
    in: string
    required: boolean
    description?: string
    example?: unknown
    schema: Record<string, unknown>
  }[]
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> }
  responses: Record<string, { content?: Record<string, { schema: Record<string, unknown> }> }>
}
interface Description {
  openapi: string
  info: { version: string }
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object>; responses: Record<string, object> }
}

let served: ServedFront
let description: Description
/** Those that are described: all but the files of the page. */
let routes: readonly Route[]
before(async () => {
  served = await serveFront()
  routes = served.routes.filter(route => !route.hidden)
  description = (await (await fetch(`${served.url}/openapi.json`)).json()) as Description
})
after(() => served.close())

const operations = (): [path: string, method: string, operation: Operation][] =>
  Object.entries(description.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, string, Operation] => [path, method, operation]),
  )
/** Words of JSON Schema that a refusal can explain, and those that refuse nothing. */
const EXPLAINED = [
  ...['type', 'const', 'enum', 'anyOf', 'properties', 'required', 'additionalProperties', 'patternProperties'],
  ...['items', 'minItems', 'maxItems', 'uniqueItems', 'minLength', 'maxLength', 'pattern'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['description', 'default', 'examples', 'title', 'unit', 'format'],
]
function keywords(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(keywords)
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([keyword, inner]) => {
    if (keyword === 'properties' || keyword === 'patternProperties')
      return [keyword, ...Object.values(inner as object).flatMap(keywords)]
    const isData = ['const', 'enum', 'default', 'examples', 'required'].includes(keyword)
    return isData ? [keyword] : [keyword, ...keywords(inner)]
  })
}
/** Every `$ref` below a value. */
function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (key === '$ref' ? [String(inner)] : references(inner)))
}

describe('the description of the interface', () => {
  test('is what the declared routes say, served without a credential', () => {
    assert.match(description.openapi, /^3\.1\./)
    assert.deepEqual(description, JSON.parse(JSON.stringify(openapiOf(served.routes))))
    assert.equal(operations().length, routes.length)
    const hidden = new Set(served.routes.filter(route => route.hidden).map(({ path }) => path))
    assert.deepEqual([...hidden].filter(path => !path.startsWith('/docs/')).sort(), [
      '/',
      '/app',
      '/app/{path*}',
      '/mcp',
      '/oauth/style.css',
      '/panel',
    ])
  })

  test('holds every route once, under a name of its own', () => {
    const names = operations().map(([, , { operationId }]) => operationId)
    assert.equal(new Set(names).size, routes.length)
    for (const route of routes)
      assert.equal(description.paths[route.path]![route.method.toLowerCase()]!.operationId, operationIdOf(route))
  })

  test('names every parameter of a path, and no other', () => {
    for (const [path, method, { parameters = [] }] of operations()) {
      const wanted = [...path.matchAll(/\{([a-z_]+)\}/g)].map(match => match[1])
      const named = parameters.filter(parameter => parameter.in === 'path').map(({ name }) => name)
      assert.deepEqual(named.sort(), wanted.sort(), `${method} ${path}`)
      assert.ok(parameters.every(parameter => parameter.in !== 'path' || parameter.required))
    }
  })

  test('every reference leads somewhere, and every noun is used', () => {
    const all = new Set(references(description))
    for (const reference of all) {
      const target = reference
        .slice(2)
        .split('/')
        .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], description)
      assert.ok(target, reference)
    }
    for (const noun of Object.keys(description.components.schemas))
      assert.ok(all.has(`#/components/schemas/${noun}`), `${noun} is not referred to`)
  })

  test('operations have names that read, as a generated client calls them', () => {
    const ids = new Map(
      operations().map(([path, method, { operationId }]) => [`${method.toUpperCase()} ${path}`, operationId]),
    )
    for (const [route, id] of [
      ['GET /flows', 'listFlows'],
      ['POST /flows', 'createFlow'],
      ['GET /flows/{name}', 'getFlow'],
      ['DELETE /flows/{name}', 'deleteFlow'],
      ['POST /flows/{name}/rename', 'renameFlow'],
      ['GET /messages/{name}/history', 'getMessageHistory'],
      ['GET /nodes/{flow}.{node}/errors', 'listNodeErrors'],
      ['GET /runs', 'listRuns'],
      ['GET /runs/{id}/nodes', 'listRunNodes'],
      ['POST /runs/{id}/cancel', 'cancelRun'],
      ['POST /artifacts/sweep', 'sweepArtifacts'],
      ['POST /modules/refresh', 'refreshModules'],
    ])
      assert.equal(ids.get(route!), id, route)
    for (const id of ids.values()) assert.match(id, /^[a-z][A-Za-z]+$/)
    assert.deepEqual(
      Object.keys(OPERATIONS).filter(route => !ids.has(route)),
      [],
      'every name that is given is of a route',
    )
  })

  test('each parameter is told in a sentence, with an example that it takes', () => {
    for (const [path, method, { parameters = [] }] of operations())
      for (const { name, description, example, schema } of parameters) {
        const place = `${method} ${path} ${name}`
        assert.ok(description !== undefined && description.length > 5, place)
        assert.ok(example !== undefined, `${place} has no example`)
        const { format: _, ...checked } = schema
        if (!('$ref' in schema))
          assert.ok(Value.Check(checked as never, example), `${place}: ${JSON.stringify(example)}`)
      }
  })

  test('each body has an example that its route takes', () => {
    for (const route of routes) {
      if (route.body === null) continue
      const { content } = description.paths[route.path]![route.method.toLowerCase()]!.requestBody!
      const { example } = content['application/json']!
      assert.ok(example !== undefined, `${route.method} ${route.path} has no example`)
      assert.ok(Value.Check(route.body, example), `${route.method} ${route.path}: ${JSON.stringify(example)}`)
    }
    const ids = new Set(operations().map(([, , { operationId }]) => operationId))
    assert.deepEqual(
      Object.keys(BODIES).filter(id => !ids.has(id)),
      [],
    )
  })

  test('what a route takes is described in words that a refusal can explain', () => {
    for (const { method, path, params, query, body } of served.routes) {
      const schemas = [query, body, ...Object.values(params).map(({ schema }) => schema)]
      const others = keywords(JSON.parse(JSON.stringify(schemas))).filter(keyword => !EXPLAINED.includes(keyword))
      assert.deepEqual(others, [], `${method} ${path}`)
    }
  })

  test('each answer that is an object has a name, choices between words are enums, and times say their format', () => {
    for (const [path, method, { responses }] of operations())
      for (const [status, { content = {} }] of Object.entries(responses)) {
        const schema = content['application/json']?.schema
        if (schema !== undefined) assert.notEqual(schema['type'], 'object', `${method} ${path} ${status}`)
      }
    const walk = (value: unknown, at: string): void => {
      if (typeof value !== 'object' || value === null) return
      for (const [key, inner] of Object.entries(value as Record<string, Record<string, unknown>>)) {
        const place = `${at}/${key}`
        if (key === 'anyOf') {
          const all = Object.values(inner) as { const?: unknown }[]
          assert.ok(!all.every(one => typeof one.const === 'string'), `${place} is an enum`)
        }
        if (/_at$/.test(key) && inner['type'] === 'string') assert.equal(inner['format'], 'date-time', place)
        walk(inner, place)
      }
    }
    walk(description.components.schemas, '')
  })

  test('docs/http.md lists the same routes, with who may call them', () => {
    const page = readFileSync(join(ROOT, 'docs/http.md'), 'utf8')
    const rows = [...page.matchAll(/^\| (GET|POST|PUT|PATCH|DELETE) \| `(\S+)` \| (\w+) \|/gm)].map(row =>
      row.slice(1).join(' '),
    )
    assert.deepEqual(rows.sort(), routes.map(({ method, path, scope }) => `${method} ${path} ${scope}`).sort())
  })

  test('says who may call, and which problems come back', () => {
    for (const route of routes) {
      const operation = description.paths[route.path]![route.method.toLowerCase()]!
      assert.equal(operation['x-scope'], route.scope)
      assert.equal(operation.security === undefined, route.scope !== 'open', route.path)
      for (const code of refusalsOf(route))
        assert.ok(operation.responses[errorTable[code].status], `${route.path} ${code}`)
      assert.ok(route.summary.endsWith('.'), route.summary)
    }
  })
})

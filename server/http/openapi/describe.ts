import { type ErrorCode, errorTable } from '../../../protocol/errors.ts'
import { VERSION } from '../../../protocol/version.ts'
import { PROBLEM_TYPE } from '../problem.ts'
import type { AnswerShape, Route } from '../route.ts'
import { BODIES } from './bodies.ts'
import { type Json, Nouns } from './nouns.ts'
import { operationIdOf } from './operations.ts'
import { formatOf, toldOf } from './parameters.ts'

/** OpenAPI 3.1 from the declared routes, with the same schemas that check the requests. */

const Problem = {
  type: 'object',
  description: 'RFC 9457. `code` is stable; `detail` says what to do next.',
  required: ['type', 'title', 'status', 'detail', 'code', 'errors'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(errorTable) },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['loc', 'msg'],
        properties: {
          loc: { type: 'string', description: '`body.nodes[2].ports`, `query.limit`, `path.name`' },
          msg: { type: 'string' },
        },
      },
    },
    current: {
      type: 'object',
      description: 'Of `stale_version`, where it is known: the version that is there, who made it and when.',
      required: ['version', 'author', 'at'],
      properties: {
        version: { type: 'integer' },
        author: { type: ['string', 'null'] },
        at: { type: ['string', 'null'], format: 'date-time' },
      },
    },
    instance: { type: 'string', description: 'The path of the request.' },
  },
}

export function openapiOf(all: readonly Route[]): Json {
  const routes = all.filter(route => !route.hidden)
  const nouns = new Nouns()
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const item = (paths[route.path] ??= {})
    item[route.method.toLowerCase()] = operationOf(route, nouns)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Flow engine',
      version: VERSION,
      description:
        'Errors are `application/problem+json`; `docs/errors.md` lists their codes. Lists answer `{items, count, next}`: `next` is the `offset` of the next page, and there whenever there are further items.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { password: [] }],
    tags: [...new Set(routes.map(route => route.tag))].map(name => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        password: { type: 'oauth2', flows: { password: { tokenUrl: '/login/access-token', scopes: {} } } },
      },
      schemas: { ...nouns.schemas, Problem },
      responses: {
        [TOO_LONG]: {
          description:
            'The address and the header fields are longer together than the server reads. Send a shorter query.',
        },
        ...Object.fromEntries([...codesOf(routes)].sort().map(code => [code, problemOf(code)])),
      },
    },
  }
}

/** Answered to every request that is too long, before its route is known. */
const TOO_LONG = 'request_too_long'

/** Any media type is taken and answered. Generators know this one, so it comes first. */
const BYTES = 'application/octet-stream'

function operationOf(route: Route, nouns: Nouns): Json {
  const { path } = route
  const query = route.query as { properties: Record<string, object>; required?: string[] } | null
  const of = (place: string, name: string, required: boolean, schema: object): Json => ({
    name,
    in: place,
    required,
    ...toldOf(path, name, schema),
    schema: { ...(nouns.write(schema) as Json), ...formatOf(name) },
  })
  const parameters = [
    ...(route.headers === 'every' ? [] : route.headers).map(name => of('header', name, false, { type: 'string' })),
    ...Object.entries(route.params).map(([name, { schema }]) => of('path', name, true, schema)),
    ...Object.entries(query?.properties ?? {}).map(([name, schema]) =>
      of('query', name, (query?.required ?? []).includes(name) && !('default' in schema), schema),
    ),
  ]
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    tags: [route.tag],
    'x-scope': route.scope,
    ...(route.scope === 'open' ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(takesBody(route) ? { requestBody: { required: !route.raw, content: bodyOf(route, nouns) } } : {}),
    responses: responsesOf(route, nouns),
  }
}

/** Whether the route takes a body: JSON, or any media type. */
const takesBody = ({ body, upload, raw, method }: Route): boolean =>
  body !== null || upload || (raw && method !== 'GET' && method !== 'DELETE')

function bodyOf(route: Route, nouns: Nouns): Json {
  if (route.upload || route.raw) return { [BYTES]: { schema: { type: 'string', format: 'binary' } } }
  const operation = operationIdOf(route)
  const example = BODIES[operation]
  const schema = nouns.write(route.body, named(operation, 'Request'))
  const media = { schema, ...(example === undefined ? {} : { example }) }
  return {
    'application/json': media,
    ...(route.form ? { 'application/x-www-form-urlencoded': media } : {}),
  }
}

function responsesOf(route: Route, nouns: Nouns): Json {
  const responses: Record<string, Json> = { 431: { $ref: `#/components/responses/${TOO_LONG}` } }
  for (const [status, shape] of Object.entries(route.answers))
    responses[status] = answerOf(shape, nouns, named(operationIdOf(route), 'Answer'))
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of refusalsOf(route)) {
    const { status } = errorTable[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  for (const [status, codes] of byStatus)
    responses[status] =
      codes.length === 1
        ? { $ref: `#/components/responses/${codes[0]}` }
        : {
            ...problemOf(codes[0]!),
            description: codes.map(code => `\`${code}\` ${errorTable[code].title}.`).join(' '),
          }
  return responses
}

/** Every code that a route can answer with: its own, and those that come from how it is declared. */
export function refusalsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(['internal', 'validation', 'url_too_long', ...route.refuses])
  if (route.scope !== 'open') for (const code of ['unauthenticated', 'token_expired'] as const) codes.add(code)
  if (route.scope !== 'open') codes.add('forbidden')
  for (const { missing } of Object.values(route.params)) if (missing !== null) codes.add(missing)
  if (route.form) codes.add('unsupported_media_type')
  if (route.body !== null) for (const code of ['malformed_json', 'too_deep', 'too_large'] as const) codes.add(code)
  if (route.upload || route.raw) for (const code of ['too_large', 'upload_incomplete'] as const) codes.add(code)
  if (route.raw) for (const code of ['malformed_json', 'too_deep'] as const) codes.add(code)
  return [...codes]
}

function answerOf(shape: AnswerShape, nouns: Nouns, name: string): Json {
  if (shape === null) return { description: 'Success.' }
  if ('media' in shape && (typeof shape.media === 'string' || Array.isArray(shape.media))) {
    const media = [shape.media].flat() as string[]
    return {
      description: 'Success.',
      content: Object.fromEntries(
        media.flatMap(type =>
          type === '*/*'
            ? [
                [BYTES, { schema: { type: 'string', format: 'binary' } }],
                [type, { schema: { type: 'string', format: 'binary' } }],
              ]
            : [[type, { schema: { type: 'string' } }]],
        ),
      ),
    }
  }
  return { description: 'Success.', content: { 'application/json': { schema: nouns.write(shape, name) } } }
}

/** The name of a schema that only this operation uses. */
const named = (operation: string, what: string): string =>
  operation.replace(/^./, letter => letter.toUpperCase()) + what

const codesOf = (routes: readonly Route[]): Set<ErrorCode> => new Set(routes.flatMap(refusalsOf))

const problemOf = (code: ErrorCode): Json => ({
  description: `\`${code}\` ${errorTable[code].title}. ${errorTable[code].next}`,
  content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
})

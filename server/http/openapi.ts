import type { TSchema } from 'typebox'
import { type ErrorCode, errorTable } from '../../protocol/errors.ts'
import { Cascade } from '../../protocol/nouns/cascade.ts'
import { EngineEvent } from '../../protocol/nouns/event.ts'
import { Flavor, PutFlavor } from '../../protocol/nouns/flavor.ts'
import {
  CreateFlow,
  Flow,
  FlowBacklog,
  FlowCommit,
  FlowCommitDetail,
  FlowSummary,
  NodeStatus,
  SavedFlow,
  SaveFlow,
} from '../../protocol/nouns/flow.ts'
import { FlowDocument, FlowInput, FlowNode, InputPort, OutputPort } from '../../protocol/nouns/flow-document.ts'
import { Issue } from '../../protocol/nouns/issue.ts'
import {
  HistoryBin,
  HistoryPoint,
  Message,
  MessageHistory,
  Published,
  PublishNamed,
  PublishValue,
} from '../../protocol/nouns/message.ts'
import { NodeError } from '../../protocol/nouns/node-error.ts'
import { DiskClass, Summary, ThreadStatus, TimeseriesPoint } from '../../protocol/nouns/summary.ts'
import { AccessToken, CreateUser, Credentials, User } from '../../protocol/nouns/user.ts'
import { Dtype } from '../../protocol/values/dtype.ts'
import { VERSION } from '../../protocol/version.ts'
import { WorkerResources } from '../../protocol/worker/resources.ts'
import { PROBLEM_TYPE } from './problem.ts'
import type { AnswerShape, Route } from './route.ts'

/** OpenAPI 3.1 from the declared routes: the schemas that check the requests are the ones that stand there. */

/** The nouns that get a name of their own; wherever one of these very objects stands, a reference to it is written. */
const NOUNS: Readonly<Record<string, TSchema>> = {
  AccessToken,
  Cascade,
  CreateFlow,
  CreateUser,
  Credentials,
  DiskClass,
  Dtype,
  EngineEvent,
  Flavor,
  Flow,
  FlowBacklog,
  FlowCommit,
  FlowCommitDetail,
  FlowDocument,
  FlowInput,
  FlowNode,
  FlowSummary,
  HistoryBin,
  HistoryPoint,
  InputPort,
  Issue,
  Message,
  MessageHistory,
  NodeError,
  NodeStatus,
  OutputPort,
  Published,
  PublishNamed,
  PublishValue,
  PutFlavor,
  SavedFlow,
  SaveFlow,
  Summary,
  ThreadStatus,
  TimeseriesPoint,
  User,
  WorkerResources,
}
const nameOf = new Map<unknown, string>(Object.entries(NOUNS).map(([name, schema]) => [schema, name]))

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
    instance: { type: 'string', description: 'The path of the request.' },
  },
}

type Json = Record<string, unknown>

/** A schema with the nouns in it as references. `own` is the noun that is being written itself. */
function written(schema: unknown, own: unknown = null): unknown {
  if (Array.isArray(schema)) return schema.map(item => written(item))
  if (typeof schema !== 'object' || schema === null) return schema
  const noun = schema === own ? undefined : nameOf.get(schema)
  if (noun !== undefined) return { $ref: `#/components/schemas/${noun}` }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, written(value)]))
}

export function openapiOf(all: readonly Route[]): Json {
  const routes = all.filter(route => !route.hidden)
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const item = (paths[route.path] ??= {})
    item[route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Flow engine',
      version: VERSION,
      description:
        'Errors are `application/problem+json`; `docs/errors.md` lists their codes. Lists answer `{items, count}`.',
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
      schemas: {
        ...Object.fromEntries(Object.entries(NOUNS).map(([name, schema]) => [name, written(schema, schema)])),
        Problem,
      },
      responses: Object.fromEntries([...codesOf(routes)].sort().map(code => [code, problemOf(code)])),
    },
  }
}

function operationOf(route: Route): Json {
  const parameters = [
    ...route.headers.map(name => ({ name, in: 'header', required: false, schema: { type: 'string' } })),
    ...Object.entries(route.params).map(([name, { schema }]) => ({
      name,
      in: 'path',
      required: true,
      schema: written(schema),
    })),
    ...Object.entries(route.query?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      required:
        ((route.query as { required?: string[] } | null)?.required ?? []).includes(name) && !('default' in schema),
      ...described(schema),
      schema: written(schema),
    })),
  ]
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    tags: [route.tag],
    'x-who': route.who,
    ...(route.who === 'nobody' ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body === null && !route.upload ? {} : { requestBody: { required: true, content: bodyOf(route) } }),
    responses: responsesOf(route),
  }
}

/** `POST /flows/{name}/rename` is `post_flows_name_rename`. */
export const operationIdOf = (route: Pick<Route, 'method' | 'path'>): string =>
  [route.method.toLowerCase(), ...route.path.split(/[^A-Za-z0-9]+/).filter(part => part !== '')].join('_') +
  (route.path.endsWith('/') ? '_' : '')

const described = (schema: TSchema): Json =>
  'description' in schema ? { description: (schema as { description: string }).description } : {}

function bodyOf(route: Route): Json {
  if (route.upload) return { '*/*': { schema: { type: 'string', format: 'binary' } } }
  const media = { schema: written(route.body) }
  return {
    'application/json': media,
    ...(route.form ? { 'application/x-www-form-urlencoded': media } : {}),
  }
}

function responsesOf(route: Route): Json {
  const responses: Record<string, Json> = {}
  for (const [status, shape] of Object.entries(route.answers)) responses[status] = answerOf(shape)
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
  const codes = new Set<ErrorCode>(['internal', 'validation', ...route.refuses])
  if (route.who !== 'nobody') for (const code of ['unauthenticated', 'token_expired'] as const) codes.add(code)
  if (route.who === 'superuser') codes.add('forbidden')
  for (const { missing } of Object.values(route.params)) if (missing !== null) codes.add(missing)
  if (route.form) codes.add('unsupported_media_type')
  if (route.body !== null) for (const code of ['malformed_json', 'too_deep', 'too_large'] as const) codes.add(code)
  if (route.upload) for (const code of ['too_large', 'upload_incomplete'] as const) codes.add(code)
  return [...codes]
}

function answerOf(shape: AnswerShape): Json {
  if (shape === null) return { description: 'Done.' }
  if ('media' in shape && (typeof shape.media === 'string' || Array.isArray(shape.media))) {
    const media = [shape.media].flat() as string[]
    return {
      description: 'Done.',
      content: Object.fromEntries(media.map(type => [type, { schema: { type: 'string' } }])),
    }
  }
  return { description: 'Done.', content: { 'application/json': { schema: written(shape) } } }
}

const codesOf = (routes: readonly Route[]): Set<ErrorCode> => new Set(routes.flatMap(refusalsOf))

const problemOf = (code: ErrorCode): Json => ({
  description: `\`${code}\` ${errorTable[code].title}. ${errorTable[code].next}`,
  content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
})

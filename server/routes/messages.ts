import Type from 'typebox'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { FlowName } from '../../protocol/nouns/flow.ts'
import {
  Message,
  MessageHistory,
  MessageName,
  Published,
  PublishList,
  PublishNamed,
  PublishValue,
} from '../../protocol/nouns/message.ts'
import type { Engine } from '../engine.ts'
import { jsonBytes } from '../http/long-answer.ts'
import { accepted, existing, ok, type Route, route } from '../http/route.ts'
import { closed, listOf, microseconds, pageQuery, sinceQuery, untilQuery } from './queries.ts'

const tag = 'messages'
const name = existing(MessageName, 'message_not_found')
const publish_refusals = [
  'wrong_dtype',
  'not_finite',
  'too_deep',
  'value_too_large',
  'flow_disabled',
  'backlogged',
  'not_durable',
  'disk_full',
  'disk_read_only',
  'disk_failed',
] as const

/** A version says where in a microsecond to stop, so it needs the microsecond; bins have none. */
function versionAt(query: {
  until?: string | undefined
  until_version?: number | undefined
  bucket_s?: number | undefined
}): number | null {
  const { until, until_version, bucket_s } = query
  if (until_version === undefined) return null
  if (until !== undefined && bucket_s === undefined) return until_version
  const msg = until === undefined ? 'needs until' : 'is for points; bins go on with until alone'
  throw new ServiceError('validation', 'The query was refused.', { errors: [{ loc: 'query.until_version', msg }] })
}

export function messageRoutes({ engine }: { engine: Pick<Engine, 'messages'> }): Route[] {
  const { messages } = engine
  const publish = (items: PublishNamed[], shown: (published: Published[]) => unknown) =>
    items.some(item => item.durable === true)
      ? messages.publishDurably(items).then(published => accepted(shown(published)))
      : accepted(shown(messages.publish(items)))
  return [
    route({
      method: 'GET',
      path: '/messages',
      scope: 'read',
      tag,
      summary: 'Lists the messages of all flows or of one flow, each with its latest value.',
      query: Type.Object({ ...pageQuery, flow: Type.Optional(FlowName) }, closed),
      answers: { 200: listOf(Message) },
      handle: ({ query }) => ok(messages.list({ ...query, flow: query.flow ?? null })),
    }),
    route({
      method: 'POST',
      path: '/messages/',
      scope: 'publish',
      tag,
      summary:
        'Publishes one value, or a list of them: all or nothing, then one cascade each. With `durable` it is answered when all of it is on disk.',
      object: (reach, { body }) =>
        (Array.isArray(body) ? body : [body as PublishNamed]).every(({ name }) => reach.mayPublish(name)),
      body: Type.Union([PublishNamed, PublishList]),
      answers: { 202: Type.Union([Published, Type.Array(Published)]) },
      refuses: ['message_not_found', ...publish_refusals],
      handle: ({ body }) => {
        if (Array.isArray(body)) return publish(body, all => all)
        return publish([body as PublishNamed], ([one]) => one)
      },
    }),
    route({
      method: 'GET',
      path: '/messages/{name}',
      scope: 'read',
      object: (reach, { params }) => reach.mayRead(params.name),
      tag,
      summary: 'Returns a message with its latest value.',
      params: { name },
      answers: { 200: Message },
      handle: ({ params }) => ok(messages.get(params.name)),
    }),
    route({
      method: 'POST',
      path: '/messages/{name}',
      scope: 'publish',
      object: (reach, { params }) => reach.mayPublish(params.name),
      tag,
      summary:
        'Publishes a value. 202 means accepted in memory; it is durable within 50 ms, and with `durable` before the answer.',
      params: { name },
      body: PublishValue,
      answers: { 202: Published },
      refuses: publish_refusals,
      handle: ({ params, body }) => publish([{ ...body, name: params.name }], ([one]) => one),
    }),
    route({
      method: 'GET',
      path: '/messages/{name}/history',
      scope: 'read',
      object: (reach, { params }) => reach.mayRead(params.name),
      tag,
      summary: 'Returns the newest values of the time range in order of time, or complete bins of `bucket_s` seconds.',
      params: { name },
      query: Type.Object(
        {
          since: sinceQuery,
          until: untilQuery,
          until_version: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: Number.MAX_SAFE_INTEGER,
              description:
                'Together with `until`: also the points at exactly that time whose version is lower than this.',
            }),
          ),
          limit: Type.Integer({ minimum: 1, maximum: limits.HISTORY_POINTS, default: 1_000 }),
          bucket_s: Type.Optional(
            Type.Number({
              minimum: 0.001,
              maximum: limits.BUCKET_S_MAX,
              description: 'The width of a bin in seconds.',
            }),
          ),
        },
        closed,
      ),
      answers: { 200: MessageHistory },
      handle: async ({ params, query }) =>
        jsonBytes(
          await messages.historyText(params.name, {
            since_us: microseconds('since', query.since),
            until_us: microseconds('until', query.until),
            until_version: versionAt(query),
            limit: query.limit,
            bucket_s: query.bucket_s ?? null,
          }),
        ),
    }),
  ]
}

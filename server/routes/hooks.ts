import Type from 'typebox'
import { limits } from '../../protocol/limits.ts'
import { FlowName } from '../../protocol/nouns/flow.ts'
import type { Engine } from '../engine.ts'
import { accepted, existing, type Method, okLong, type Route, route } from '../http/route.ts'

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Requests from outside to webhook nodes: whether one may come in is the node's own check. */
export function hookRoutes({ engine }: { engine: Pick<Engine, 'hooks'> }): Route[] {
  return METHODS.map(method =>
    route({
      method,
      path: '/hooks/{flow}/{node}',
      scope: 'open',
      object: 'any',
      tag: 'hooks',
      summary: `Publishes the request through a webhook node (${method}).`,
      params: { flow: existing(FlowName, 'hook_not_found'), node: existing(FlowName, 'hook_not_found') },
      raw: true,
      head: false,
      gone: true,
      body_limit: limits.HOOK_BODY_BYTES,
      answers: { 200: Type.Unknown(), 202: Type.Object({ accepted: Type.Boolean() }) },
      refuses: [
        'hook_not_found',
        'hook_refused',
        'hook_busy',
        'hook_timeout',
        'message_not_found',
        'backlogged',
        'too_many_connections',
        'unsupported_media_type',
        'wrong_dtype',
        'value_too_large',
        'bad_media_type',
        'disk_full',
        'disk_read_only',
        'disk_failed',
      ],
      handle: async ({ params: { flow, node }, query_text, headers, content_type, body, gone }) => {
        const request = { flow, node, query: query_text, headers, content_type, body: body as Uint8Array }
        const { answer } = await engine.hooks.take(request, gone)
        return answer === undefined ? accepted({ accepted: true }) : okLong(answer)
      },
    }),
  )
}

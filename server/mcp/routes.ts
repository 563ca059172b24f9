import Type from 'typebox'
import { limits } from '../../protocol/limits.ts'
import { type Route, route } from '../http/route.ts'
import type { Mcp } from './mcp.ts'

export interface McpServices {
  readonly mcp: Pick<Mcp, 'take'>
  /** Where users reach the engine, when it is not the address that it listens on. */
  readonly public_url: string | null
}

/** The Model Context Protocol over HTTP: POST carries messages, GET opens a stream of events, DELETE ends a session. */
export function mcpRoutes({ mcp, public_url }: McpServices): Route[] {
  return (['GET', 'POST', 'DELETE'] as const).map(method =>
    route({
      method,
      path: '/mcp',
      scope: 'mcp',
      tag: 'mcp',
      summary: 'The endpoint of the Model Context Protocol.',
      ...(method === 'POST' ? { body: Type.Unknown() } : {}),
      body_limit: limits.FLOW_BODY_BYTES,
      headers: 'every',
      address: true,
      token: true,
      head: false,
      gone: true,
      resource_metadata: host => `${public_url ?? `http://${host}`}/.well-known/oauth-protected-resource/mcp`,
      hidden: true,
      answers: { 200: Type.Unknown(), 202: null },
      refuses: ['too_many_connections'],
      handle: ({ host, path, headers, body, caller, address, token, gone }) =>
        mcp.take({ method, host, path, headers, body, caller, address, token, gone: gone! }),
    }),
  )
}

import Type from 'typebox'
import {
  CreatedLastingToken,
  CreateLastingToken,
  LastingToken,
  LastingTokenName,
} from '../../../protocol/nouns/accounts/lasting-token.ts'
import type { LastingTokens } from '../../auth/lasting-tokens.ts'
import { existing, nothing, type Route, route } from '../../http/route.ts'
import { closed, listOf, okPage, pageQuery } from '../queries.ts'

export interface TokenServices {
  readonly lasting: LastingTokens
}

const tag = 'users'

export function tokenRoutes({ lasting }: TokenServices): Route[] {
  return [
    route({
      method: 'GET',
      path: '/tokens',
      scope: 'admin',
      tag,
      summary: 'Lists the lasting tokens by name, without their secrets.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(LastingToken) },
      handle: ({ query: { limit, offset } }) => {
        const all = lasting.list()
        return okPage({ items: all.slice(offset, offset + limit), count: all.length }, offset)
      },
    }),
    route({
      method: 'POST',
      path: '/tokens',
      scope: 'admin',
      tag,
      summary: 'Creates a token with few rights for a program. The token is shown only in this answer.',
      body: CreateLastingToken,
      audit: { action: 'token_created', object: ({ body }) => `token:${body.name}` },
      answers: { 201: CreatedLastingToken },
      refuses: ['token_exists', 'too_many_tokens', 'disk_full'],
      handle: async ({ body, caller }) => {
        const created = await lasting.create(body, caller.actor)
        return { status: 201, body: created, headers: { 'cache-control': 'no-store' } }
      },
    }),
    route({
      method: 'DELETE',
      path: '/tokens/{name}',
      scope: 'admin',
      object: 'any',
      tag,
      summary: 'Revokes a lasting token: it ends at once.',
      params: { name: existing(LastingTokenName, 'token_not_found') },
      audit: { action: 'token_revoked', object: ({ params }) => `token:${params.name}` },
      answers: { 204: null },
      refuses: ['disk_full'],
      handle: async ({ params }) => {
        await lasting.revoke(params.name)
        return nothing
      },
    }),
  ]
}

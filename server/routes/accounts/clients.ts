import Type from 'typebox'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { Client, ClientId, CreateClient, CreatedClient } from '../../../protocol/nouns/accounts/client.ts'
import { formatTime, parseTime } from '../../../protocol/time.ts'
import type { Accounts } from '../../auth/accounts.ts'
import { type ClientOwner, type Clients, shownClient } from '../../auth/clients.ts'
import { type Caller, mayDo, ownerOf } from '../../auth/principal.ts'
import type { Tokens } from '../../auth/tokens.ts'
import { existing, nothing, type Route, route } from '../../http/route.ts'
import type { Registration, Registrations } from '../../oauth/registrations.ts'
import { closed, listOf, okPage, pageQuery } from '../queries.ts'

export interface ClientServices {
  readonly clients: Clients
  /** Of programs that registered themselves. */
  readonly registrations: Registrations
  readonly accounts: Accounts
  readonly tokens: Tokens
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const tag = 'users'

const shownRegistration = ({ client_id, client_name, redirect_uris, created_ms }: Registration): Client => ({
  client_id,
  name: client_name,
  scopes: [],
  owner: null,
  status: 'pending',
  redirect_uris: [...redirect_uris],
  created_at: formatTime(created_ms * 1000),
  expires_at: null,
  last_used: null,
})

export function clientRoutes({ clients, registrations, accounts, tokens, now }: ClientServices): Route[] {
  return [
    route({
      method: 'GET',
      path: '/clients',
      scope: 'admin',
      tag,
      summary:
        'Lists the clients (agents and programs) by name, without their tokens, and then those that wait to be let in.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(Client) },
      handle: ({ query: { limit, offset } }) => {
        const all = [...clients.list().map(shownClient), ...registrations.list().map(shownRegistration)]
        return okPage({ items: all.slice(offset, offset + limit), count: all.length }, offset)
      },
    }),
    route({
      method: 'POST',
      path: '/clients',
      scope: 'admin',
      tag,
      summary: 'Creates a client with some of your scopes. Its token is shown only in this answer.',
      body: CreateClient,
      audit: { action: 'client_created', object: (_, { body }) => `client:${(body as CreatedClient).client_id}` },
      answers: { 201: CreatedClient },
      refuses: ['too_many_clients', 'disk_full'],
      handle: async ({ body: { name, scopes, expires_at }, caller }) => {
        const beyond = scopes.filter(scope => !mayDo(caller, scope))
        if (beyond.length > 0)
          throw new ServiceError('forbidden', `You cannot give scopes that you do not have: ${beyond.join(', ')}.`)
        const expires_ms = expires_at === undefined ? null : endOf(expires_at, now())
        const owner = ownerAs(caller, accounts)
        const row = await clients.create({ name, scopes, owner, redirect_uris: [], expires_ms })
        const lifetime_s = expires_ms === null ? limits.CLIENT_LIFETIME_S : Math.floor((expires_ms - now()) / 1000)
        const token = await tokens.mint('client', row.id, row.id, Math.max(1, lifetime_s))
        return { status: 201, body: { ...shownClient(row), token }, headers: { 'cache-control': 'no-store' } }
      },
    }),
    route({
      method: 'DELETE',
      path: '/clients/{client_id}',
      scope: 'admin',
      object: 'any',
      tag,
      summary: 'Deletes a client: its tokens are refused at once, and its websockets are closed.',
      params: { client_id: existing(ClientId, 'client_not_found') },
      audit: { action: 'client_removed', object: ({ params }) => `client:${params.client_id}` },
      answers: { 204: null },
      refuses: ['disk_full'],
      handle: async ({ params }) => {
        if (!registrations.remove(params.client_id)) await clients.remove(params.client_id)
        return nothing
      },
    }),
  ]
}

/** Milliseconds since 1970. */
function endOf(text: string, now_ms: number): number {
  const us = parseTime(text)
  const msg =
    us === null
      ? 'must be an RFC 3339 time with an offset, such as 2027-01-01T00:00:00+00:00'
      : us / 1000 <= now_ms
        ? 'has passed already'
        : us / 1000 > now_ms + limits.CLIENT_LIFETIME_S * 1000
          ? 'is more than ten years from now'
          : null
  if (us !== null && msg === null) return us / 1000
  throw new ServiceError('validation', 'The body was refused.', { errors: [{ loc: 'body.expires_at', msg: msg! }] })
}

function ownerAs(caller: Caller, accounts: Accounts): ClientOwner {
  const account = accounts.find(ownerOf(caller) ?? '')
  if (account === null) throw new ServiceError('forbidden', 'Clients belong to users, and this caller is none.')
  return { name: account.name, since: account.created_at }
}

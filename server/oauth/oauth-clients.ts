import { ServiceError } from '../../protocol/errors.ts'
import type { Accounts } from '../auth/accounts.ts'
import type { Clients } from '../auth/clients.ts'
import type { Admissions } from '../auth/gatekeeper.ts'
import type { ClientPrincipal } from '../auth/principal.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { OAuthClients } from './oauth.ts'

/** The clients as the authorization server asks for them. One without addresses for answers was made by a superuser, and signs in by its token. */
export function oauthClients(
  clients: Clients,
  accounts: Accounts,
  tokens: Tokens,
  gatekeeper: Admissions<ClientPrincipal>,
): OAuthClients {
  return {
    find: id => {
      const row = clients.find(id)
      if (row === null || row.redirect_uris.length === 0) return null
      const { name: client_name, redirect_uris, owner, scopes } = row
      const account = accounts.find(owner.name)
      if (account === null || account.created_at !== owner.since || account.disabled) return null
      return { client_id: id, client_name, redirect_uris, owner: owner.name, scopes }
    },
    letIn: async ({ client_id, client_name: name, redirect_uris }, owner, scopes) => {
      const account = accounts.find(owner)
      if (account === null) throw new ServiceError('unauthenticated')
      const since = account.created_at
      return clients.letIn(client_id, { name, scopes, redirect_uris, owner: { name: owner, since }, expires_ms: null })
    },
    mint: (id, lifetime_s) => tokens.mint('client', id, id, lifetime_s),
    clientOf: async token => {
      try {
        return (gatekeeper.known(token) ?? (await gatekeeper.admit(token))).principal.id
      } catch (error) {
        if (error instanceof ServiceError) return null
        throw error
      }
    },
    endTokens: id => clients.endTokens(id),
  }
}

import { ServiceError } from '../../protocol/errors.ts'
import type { Account, Accounts } from './accounts.ts'
import type { ClientRow, Clients } from './clients.ts'
import type { Standing } from './gatekeeper.ts'
import type { ClientPrincipal, UserPrincipal } from './principal.ts'
import type { Claims } from './tokens.ts'

interface Known {
  readonly owner: UserPrincipal
  readonly scopes: ClientRow['scopes']
  readonly principal: ClientPrincipal
}

/**
 * Tokens of clients: they stand for a client as long as it is there, has not expired, and its owner may sign in. Its scopes are those
 * that it was given and that the owner has at the moment.
 */
export class StandingClients implements Standing<ClientPrincipal> {
  readonly kind = 'client'
  readonly #clients: Clients
  readonly #accounts: Accounts
  readonly #now: () => number
  /** By id; what was made of a client and its owner as they were. */
  readonly #known = new Map<string, Known>()

  constructor(clients: Clients, accounts: Accounts, now: () => number) {
    this.#clients = clients
    this.#accounts = accounts
    this.#now = now
    clients.onChange(id => this.#known.delete(id))
  }

  principalOf({ subject, binding, issued_ms }: Claims): ClientPrincipal {
    const row = subject === binding ? this.#clients.find(subject) : null
    if (row === null) throw new ServiceError('unauthenticated', 'The client was deleted.')
    if (row.expires_ms !== null && this.#now() >= row.expires_ms)
      throw new ServiceError('unauthenticated', 'The client has expired.')
    if (issued_ms < row.tokens_since_ms) throw new ServiceError('unauthenticated', 'The token was revoked.')
    const owner = this.#ownerOf(row)
    this.#clients.used(row)
    const known = this.#known.get(row.id)
    if (known?.owner === owner.principal && known.scopes === row.scopes) return known.principal
    const principal = principalOf(row, owner)
    this.#known.set(row.id, { owner: owner.principal, scopes: row.scopes, principal })
    return principal
  }

  #ownerOf({ owner }: ClientRow): Account {
    const account = this.#accounts.find(owner.name)
    if (account === null || account.created_at !== owner.since || account.disabled)
      throw new ServiceError('unauthenticated', 'The owner of the client was removed or disabled.')
    return account
  }
}

const principalOf = ({ id, name, scopes }: ClientRow, { principal: owner }: Account): ClientPrincipal => ({
  kind: 'client',
  id,
  owner: owner.name,
  // Names may come twice; the end of the id tells them apart.
  actor: `client:${name}:${id.slice(id.lastIndexOf('-') + 1)}`,
  scopes: scopes.filter(scope => owner.scopes.includes(scope)),
})

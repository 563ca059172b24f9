import type { Accounts } from '../auth/accounts.ts'
import type { Audit } from '../auth/audit.ts'
import type { Clients } from '../auth/clients.ts'
import type { Admissions } from '../auth/gatekeeper.ts'
import type { ClientPrincipal } from '../auth/principal.ts'
import type { SignIn } from '../auth/sign-in.ts'
import type { Tokens } from '../auth/tokens.ts'
import type { RecordWrite, StoredRecord } from '../store/front/requests.ts'
import { Grants } from './grants.ts'
import { OAuth } from './oauth.ts'
import { oauthClients } from './oauth-clients.ts'
import { Registrations } from './registrations.ts'

export interface OpenOAuthParts {
  readonly records: {
    list(kind: 'grant'): Promise<StoredRecord[]>
    write(records: readonly RecordWrite[]): Promise<unknown>
  }
  readonly clients: Clients
  readonly accounts: Accounts
  readonly tokens: Tokens
  /** Of tokens of clients. */
  readonly agents: Admissions<ClientPrincipal>
  readonly sign_in: SignIn
  readonly audit: Audit
  readonly now_ms: () => number
  readonly onDefect: (error: unknown) => void
}

/** Puts the authorization server together. What a client could refresh with ends when the client is deleted. */
export async function openOAuth(parts: OpenOAuthParts): Promise<{ oauth: OAuth; registrations: Registrations }> {
  const { records, clients, accounts, tokens, agents, sign_in, audit, now_ms, onDefect } = parts
  const stored = (await records.list('grant')).map(({ body }) => body)
  const grants = new Grants(stored, tokens, (id, body) => records.write([{ kind: 'grant', id, body }]), now_ms)
  const registrations = new Registrations(now_ms)
  const oauth = new OAuth({
    clients: oauthClients(clients, accounts, tokens, agents),
    registrations,
    grants,
    sign_in,
    now_ms,
    audit: (action, client, actor, address) => audit.done({ action, actor, object: `client:${client}`, address }),
  })
  clients.onChange(id => {
    if (clients.find(id) === null) grants.end(id).catch(onDefect)
  })
  return { oauth, registrations }
}

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { errorTable, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { SCOPES, SCOPES_OF, type Scope } from '../../protocol/words/scopes.ts'
import type { SignIn } from '../auth/sign-in.ts'
import type { Consent } from './consent-page.ts'
import type { Grants } from './grants.ts'
import { OAuthError } from './oauth-error.ts'
import { isSameRedirect, withQuery } from './redirects.ts'
import type { Registration, Registrations } from './registrations.ts'
import { ShortLived } from './short-lived.ts'

/** Who asks to be let in: registered just now, or let in before. */
type Asker = Pick<Registration, 'client_id' | 'client_name' | 'redirect_uris'>

/** What is asked of the clients (rows that a superuser sees), besides what each request asks. */
export interface OAuthClients {
  /** One that was let in by a user and may sign in again. */
  find(client_id: string): (Asker & { readonly owner: string; readonly scopes: readonly Scope[] }) | null
  /** Adds the client, or gives it other scopes. False, and nothing is done, when it belongs to another user. */
  letIn(registration: Asker, owner: string, scopes: readonly Scope[]): Promise<boolean>
  mint(client_id: string, lifetime_s: number): Promise<string>
  /** The client of an access token that stands, or null. */
  clientOf(access_token: string): Promise<string | null>
  /** Ends every token that was minted so far. */
  endTokens(client_id: string): Promise<unknown>
}

export interface OAuthParts {
  readonly clients: OAuthClients
  readonly registrations: Registrations
  readonly grants: Grants
  readonly sign_in: SignIn
  readonly now_ms: () => number
  /** A user let a program in, or refused it; or a refresh token was used twice. */
  readonly audit: (
    action: 'client_approved' | 'client_refused' | 'client_token_reused',
    client: string,
    user: string | null,
    address: string,
  ) => void
}

/** A request that was found well-formed, and waits for its user. */
interface Asked {
  readonly registration: Asker
  readonly redirect_uri: string
  readonly state: string | null
  readonly scopes: readonly Scope[]
  readonly challenge: string
  readonly issuer: string
}

/** What a code stands for. */
interface Authorized {
  readonly client_id: string
  readonly redirect_uri: string
  readonly challenge: string
}

/** What comes of a decision: an address to go to, or the page once more. */
export type Decided = { readonly location: string } | { readonly page: Consent; readonly status: number }

export interface TokenAnswer {
  readonly access_token: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  readonly refresh_token: string
  readonly scope: string
}

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/
const secret = (): string => randomBytes(32).toString('base64url')

/**
 * The authorization server for agents (OAuth 2.1: code with PKCE, public clients). A program registers, a user lets it in with name and
 * password on a page of this engine, the program exchanges its code for tokens and refreshes them.
 *
 *   register -> authorize (page) -> decide (code) -> token -> token (refresh) ... -> revoke
 */
export class OAuth {
  readonly #parts: OAuthParts
  readonly #asked: ShortLived<Asked>
  readonly #codes: ShortLived<Authorized>
  /** Codes that were exchanged: one that comes again ends what it gave. */
  readonly #spent: ShortLived<string>

  constructor(parts: OAuthParts) {
    this.#parts = parts
    this.#asked = new ShortLived(limits.AUTHORIZATIONS, limits.AUTHORIZATION_LIFETIME_MS, parts.now_ms)
    this.#codes = new ShortLived(limits.AUTHORIZATIONS, limits.CODE_LIFETIME_MS, parts.now_ms)
    this.#spent = new ShortLived(limits.AUTHORIZATIONS, limits.AUTHORIZATION_LIFETIME_MS, parts.now_ms)
  }

  /**
   * Looks at what a program asks for. Throws `OAuthError` where the program cannot be trusted with an answer (unknown client, another address,
   * another site for a program that nobody has let in: anybody may register, and would send browsers anywhere from here); everything else that
   * is wrong goes back to it as an address.
   */
  authorize(
    query: Readonly<Record<string, string>>,
    issuer: string,
  ): { location: string } | { page: Consent; goes_to: string } {
    const { client_id = '', redirect_uri, state = null } = query
    const registration = this.#registration(client_id)
    const uri = redirect_uri ?? (registration.redirect_uris.length === 1 ? registration.redirect_uris[0]! : '')
    if (!registration.redirect_uris.some(each => isSameRedirect(each, uri)))
      throw new OAuthError('invalid_redirect_uri', 'The program did not register this address for answers.')
    try {
      const scopes = this.#check(query, issuer)
      const id = secret()
      const challenge = query['code_challenge']!
      this.#asked.thin(limits.AUTHORIZATIONS_OF_CLIENT, each => each.registration.client_id === client_id)
      this.#asked.put(id, { registration, redirect_uri: uri, state, scopes, challenge, issuer })
      return { page: this.#page(id, '', null)!, goes_to: uri }
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      if (uri.startsWith('https:') && this.#parts.clients.find(client_id) === null) throw error
      return { location: withQuery(uri, { error: error.code, error_description: error.message, state, iss: issuer }) }
    }
  }

  #registration(client_id: string): Asker {
    const { clients, registrations } = this.#parts
    const found = clients.find(client_id) ?? registrations.find(client_id)
    if (found === null)
      throw new OAuthError('invalid_client', 'There is no such client; the program has to register again.')
    return found
  }

  #check(query: Readonly<Record<string, string>>, issuer: string): readonly Scope[] {
    const { response_type, code_challenge = '', code_challenge_method, scope, resource } = query
    if (response_type !== 'code') throw new OAuthError('unsupported_response_type', 'response_type is "code".')
    if (code_challenge_method !== 'S256' || !CHALLENGE.test(code_challenge))
      throw new OAuthError('invalid_request', 'PKCE is needed: code_challenge, with code_challenge_method "S256".')
    if (resource !== undefined && ![issuer, `${issuer}/`, `${issuer}/mcp`].includes(resource))
      throw new OAuthError('invalid_target', `resource is ${issuer}/mcp.`)
    const asked = (scope ?? '').split(' ').filter(each => each !== '')
    const unknown = asked.find(each => !(SCOPES as readonly string[]).includes(each))
    if (unknown !== undefined) throw new OAuthError('invalid_scope', `Scopes are ${SCOPES.join(', ')}.`)
    return asked.length === 0 ? ['read'] : SCOPES.filter(each => asked.includes(each))
  }

  /** Of a request that waits; null when its time is over. */
  #page(request: string, user: string, wrong: string | null): Consent | null {
    const asked = this.#asked.get(request)
    if (asked === null) return null
    const { registration, redirect_uri, scopes } = asked
    return { request, client_name: registration.client_name, goes_to: redirect_uri, scopes, user, wrong }
  }

  /** Where the form of a page that waits leads; null when its time is over. */
  goesTo(request: string): string | null {
    return this.#asked.get(request)?.redirect_uri ?? null
  }

  /** The user has decided. Throws `OAuthError` when the request is over. */
  async decide(form: Readonly<Record<string, string>>, address: string): Promise<Decided> {
    const { request = '', decision, username = '', password = '' } = form
    const asked = this.#asked.get(request)
    if (asked === null) throw new OAuthError('invalid_request', 'This request is too old, or was answered already.')
    const { registration, redirect_uri, state, issuer, challenge } = asked
    const { clients, registrations, sign_in, audit } = this.#parts
    const { client_id } = registration
    const back = (members: Record<string, string | null>): Decided => {
      this.#asked.take(request)
      return { location: withQuery(redirect_uri, { ...members, state, iss: issuer }) }
    }
    const again = (wrong: string, status: number): Decided => ({ page: this.#page(request, username, wrong)!, status })
    if (decision !== 'allow') {
      audit('client_refused', client_id, null, address)
      return back({ error: 'access_denied', error_description: 'The user refused.' })
    }
    const account = await sign_in.attempt(username, password, address).catch((error: unknown) => {
      if (error instanceof ServiceError && error.status < 500) return error
      throw error
    })
    if (account instanceof ServiceError)
      return again(`${errorTable[account.code].title}. ${account.detail}`, account.status)
    // Two decisions of one page at once: the first counts.
    if (this.#asked.get(request) !== asked)
      throw new OAuthError('invalid_request', 'This request is too old, or was answered already.')
    const scopes = asked.scopes.filter(
      scope => form[`scope_${scope}`] === 'yes' && SCOPES_OF[account.role].includes(scope),
    )
    if (scopes.length === 0) return again(`As ${account.role} you may grant none of what is ticked.`, 403)
    this.#asked.take(request)
    if (!(await clients.letIn(registration, account.name, scopes)))
      return back({ error: 'access_denied', error_description: 'Another user let this client in; register again.' })
    registrations.remove(client_id)
    audit('client_approved', client_id, account.name, address)
    return back({ code: this.#newCode({ client_id, redirect_uri, challenge }) })
  }

  #newCode(authorized: Authorized): string {
    const code = secret()
    this.#codes.put(code, authorized)
    return code
  }

  /** Throws `OAuthError`. */
  async token(form: Readonly<Record<string, string>>): Promise<TokenAnswer> {
    const { grants } = this.#parts
    switch (form['grant_type']) {
      case 'authorization_code': {
        const client_id = await this.#exchange(form)
        return this.#answer(client_id, await grants.begin(client_id))
      }
      case 'refresh_token': {
        const { refresh_token = '', client_id } = form
        if (client_id !== undefined && (await grants.clientOf(refresh_token)) !== client_id)
          throw new OAuthError('invalid_grant', 'The refresh token is not valid for this client.')
        const refreshed = await grants.refresh(refresh_token, id => this.#stolen(id))
        return this.#answer(refreshed.client_id, refreshed.next)
      }
      default:
        throw new OAuthError('unsupported_grant_type', 'grant_type is "authorization_code" or "refresh_token".')
    }
  }

  async #exchange({
    code = '',
    client_id,
    redirect_uri,
    code_verifier = '',
  }: Readonly<Record<string, string>>): Promise<string> {
    const { clients, grants } = this.#parts
    const again = this.#spent.take(code)
    if (again !== null) {
      await grants.end(again)
      await this.#stolen(again)
      throw new OAuthError('invalid_grant', 'The code was used before; what it gave has ended.')
    }
    const authorized = this.#codes.take(code)
    const isRight =
      authorized !== null &&
      authorized.client_id === client_id &&
      (redirect_uri === undefined || authorized.redirect_uri === redirect_uri) &&
      VERIFIER.test(code_verifier) &&
      isSame(createHash('sha256').update(code_verifier).digest('base64url'), authorized.challenge) &&
      clients.find(authorized.client_id) !== null
    if (!isRight)
      throw new OAuthError('invalid_grant', 'The code, its client, its address or its verifier is not valid.')
    this.#spent.put(code, authorized.client_id)
    return authorized.client_id
  }

  async #answer(client_id: string, refresh_token: string): Promise<TokenAnswer> {
    const { clients } = this.#parts
    const client = clients.find(client_id)
    if (client === null) throw new OAuthError('invalid_grant', 'The client was deleted.')
    const lifetime_s = limits.CLIENT_ACCESS_LIFETIME_S
    const access_token = await clients.mint(client_id, lifetime_s)
    const scope = client.scopes.join(' ')
    return { access_token, token_type: 'Bearer', expires_in: lifetime_s, refresh_token, scope }
  }

  async #stolen(client_id: string): Promise<void> {
    this.#parts.audit('client_token_reused', client_id, null, '')
    await this.#parts.clients.endTokens(client_id)
  }

  /** Ends a token of either kind, and with it all tokens of its client (RFC 7009). One that is not valid has ended already. */
  async revoke({ token = '' }: Readonly<Record<string, string>>): Promise<void> {
    const { clients, grants } = this.#parts
    const client_id = (await grants.clientOf(token)) ?? (await clients.clientOf(token))
    if (client_id === null) return
    await grants.end(client_id)
    await clients.endTokens(client_id)
  }
}

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))

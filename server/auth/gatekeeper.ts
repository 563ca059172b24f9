import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Account, Accounts } from './accounts.ts'
import type { Principal } from './principal.ts'
import type { Revocations } from './revocations.ts'
import type { Claims, Tokens } from './tokens.ts'

/** What a verified token stands for, as long as it lasts. */
export interface Admission<Who = Principal> {
  readonly principal: Who
  /** Milliseconds since 1970. */
  readonly expires_ms: number
  /** Does it still stand? False once the token has ended: expired, revoked, its user gone or another by now. Costs two map look-ups. */
  readonly holds: () => boolean
}

interface Remembered {
  readonly claims: Claims
  /** The account that the token was last checked against; another object means that the account changed. */
  account: Account
  admission: Admission
}

/** Who answers for a token. The front asks `known` first, which costs one map look-up, and `admit` when it says null. */
export interface Admissions<Who = Principal> {
  /** May throw what `admit` would, where it knows that already. */
  known(token: string): Admission<Who> | null
  /** Throws `unauthenticated` or `token_expired`. */
  admit(token: string): Promise<Admission<Who>>
}

/**
 * Turns access tokens into principals. A signature is checked once and remembered (at most `limits.TOKENS_REMEMBERED`, the
 * oldest goes first); expiry, sign-out, the user's existence and the password digest are looked at on every call, so that each of
 * them ends a token at once.
 */
export class Gatekeeper implements Admissions {
  readonly #tokens: Tokens
  readonly #accounts: Accounts
  readonly #revocations: Revocations
  readonly #now: () => number
  readonly #remembered = new Map<string, Remembered>()
  /** The token that was known last. Comparing two texts is cheaper than hashing one, and most traffic has one sender. */
  #last_token = ''
  #last: Remembered | undefined

  constructor(tokens: Tokens, accounts: Accounts, revocations: Revocations, now: () => number) {
    this.#tokens = tokens
    this.#accounts = accounts
    this.#revocations = revocations
    this.#now = now
  }

  known(token: string): Admission | null {
    const remembered = token === this.#last_token ? this.#last : this.#remembered.get(token)
    if (remembered === undefined) return null
    this.#last_token = token
    this.#last = remembered
    const { claims } = remembered
    if (this.#now() < claims.expires_ms && !this.#revocations.isRevoked(claims)) {
      const account = this.#accounts.find(claims.subject)
      if (account === remembered.account) return remembered.admission
      if (account !== null && account.digest === claims.password_digest) {
        remembered.account = account
        return (remembered.admission = this.#admission(account, claims))
      }
    }
    this.#remembered.delete(token)
    this.#last = undefined
    this.#last_token = ''
    return null
  }

  async admit(token: string): Promise<Admission> {
    const claims = await this.#tokens.verify('access', token)
    const account = this.#accounts.find(claims.subject)
    if (account === null || account.digest !== claims.password_digest)
      throw new ServiceError('unauthenticated', 'The user was removed, or the password has changed since.')
    if (this.#revocations.isRevoked(claims)) throw new ServiceError('unauthenticated', 'The token was signed out.')
    if (this.#remembered.size >= limits.TOKENS_REMEMBERED)
      for (const oldest of this.#remembered.keys()) {
        this.#remembered.delete(oldest)
        break
      }
    const admitted = this.#admission(account, claims)
    this.#remembered.set(token, { claims, account, admission: admitted })
    return admitted
  }

  #admission({ name, superuser }: Account, claims: Claims): Admission {
    return {
      principal: { kind: 'user', name, superuser },
      expires_ms: claims.expires_ms,
      holds: () => this.#holds(claims, superuser),
    }
  }

  #holds(claims: Claims, superuser: boolean): boolean {
    if (this.#now() >= claims.expires_ms || this.#revocations.isRevoked(claims)) return false
    const account = this.#accounts.find(claims.subject)
    return account !== null && account.digest === claims.password_digest && account.superuser === superuser
  }
}

const SCHEME = 'bearer '

/** The token of an `Authorization` header, unchecked; null when the scheme is another. */
export function bearerOf(authorization: string): string | null {
  if (authorization.length <= SCHEME.length || authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME)
    return null
  return authorization.slice(SCHEME.length).trim()
}

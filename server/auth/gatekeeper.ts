import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Caller } from './principal.ts'
import type { Claims, TokenKind, Tokens } from './tokens.ts'

/** What a verified token stands for, as long as it lasts. */
export interface Admission<Who = Caller> {
  readonly principal: Who
  /** Milliseconds since 1970. */
  readonly expires_ms: number
  /** Does it still stand? False once the token has ended: expired, revoked, its user gone or another by now. Costs two map look-ups. */
  readonly holds: () => boolean
}

/** Who answers for a token. The front asks `known` first, which costs one map look-up, and `admit` when it says null. */
export interface Admissions<Who = Caller> {
  /** May throw what `admit` would, where it knows that already. */
  known(token: string): Admission<Who> | null
  /** Throws `unauthenticated` or `token_expired`. */
  admit(token: string): Promise<Admission<Who>>
}

/** Whom the tokens of a kind stand for. */
export interface Standing<Who> {
  readonly kind: TokenKind
  /** The same object as long as nothing about the principal changed. Throws `unauthenticated` when the token stands for nobody any more. */
  principalOf(claims: Claims): Who
}

interface Remembered<Who> {
  readonly claims: Claims
  admission: Admission<Who>
}

/**
 * Turns signed tokens of one kind into principals. A signature is checked once and remembered (at most `limits.TOKENS_REMEMBERED`, the
 * oldest goes first); expiry, and whether the principal still stands, are looked at on every call, so that a sign-out, a change of password or
 * a removal ends a token at once.
 */
export class Gatekeeper<Who extends object> implements Admissions<Who> {
  readonly #tokens: Tokens
  readonly #standing: Standing<Who>
  readonly #now: () => number
  readonly #remembered = new Map<string, Remembered<Who>>()
  /** The token that was known last. Comparing two texts is cheaper than hashing one, and most traffic has one sender. */
  #last_token = ''
  #last: Remembered<Who> | undefined

  constructor(tokens: Tokens, standing: Standing<Who>, now: () => number) {
    this.#tokens = tokens
    this.#standing = standing
    this.#now = now
  }

  known(token: string): Admission<Who> | null {
    const remembered = token === this.#last_token ? this.#last : this.#remembered.get(token)
    if (remembered === undefined) return null
    this.#last_token = token
    this.#last = remembered
    const { claims } = remembered
    const principal = this.#stands(claims)
    if (principal === remembered.admission.principal) return remembered.admission
    if (principal !== null) return (remembered.admission = this.#admission(principal, claims))
    this.#remembered.delete(token)
    this.#last = undefined
    this.#last_token = ''
    return null
  }

  async admit(token: string): Promise<Admission<Who>> {
    const claims = await this.#tokens.verify(this.#standing.kind, token)
    const admission = this.#admission(this.#standing.principalOf(claims), claims)
    if (this.#remembered.size >= limits.TOKENS_REMEMBERED)
      for (const oldest of this.#remembered.keys()) {
        this.#remembered.delete(oldest)
        break
      }
    this.#remembered.set(token, { claims, admission })
    return admission
  }

  #admission(principal: Who, claims: Claims): Admission<Who> {
    return {
      principal,
      expires_ms: claims.expires_ms,
      holds: () => this.#stands(claims) === principal,
    }
  }

  #stands(claims: Claims): Who | null {
    if (this.#now() >= claims.expires_ms) return null
    try {
      return this.#standing.principalOf(claims)
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'unauthenticated') return null
      throw error
    }
  }
}

const SCHEME = 'bearer '

/** The token of an `Authorization` header, unchecked; null when the scheme is another. */
export function bearerOf(authorization: string): string | null {
  if (authorization.length <= SCHEME.length || authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME)
    return null
  return authorization.slice(SCHEME.length).trim()
}

import { limits } from '../../protocol/limits.ts'
import type { RevokedToken } from '../store/front/requests.ts'
import type { Claims } from './tokens.ts'

/** What was revoked of one user. */
interface Revoked {
  /** Id of a token -> when it was issued and when it ends by itself, in milliseconds since 1970. */
  readonly tokens: Map<string, { issued_at: number; expires_at: number }>
  /** Every token issued before is dead, until `all_until`; by then each of them has ended by itself. */
  issued_before: number
  all_until: number
}

/**
 * Tokens that were ended before their time, by sign-out. At most `limits.REVOKED_TOKENS` of a user are held one by one; with one more
 * all tokens of the user that were issued so far end together, so that what is held is bounded and nothing revoked ever comes back.
 * The store is written first; memory follows when the write is synced.
 */
export class Revocations {
  readonly #keep: (revoked: readonly RevokedToken[]) => Promise<unknown>
  readonly #now: () => number
  readonly #age: () => number
  readonly #held = new Map<string, Revoked>()
  readonly #handlers: (() => void)[] = []
  #last_write: Promise<unknown> = Promise.resolve()

  /** `age` is never ahead of `now`, and a jump forward of the clock counts late: one that is set right again brings no token back. */
  constructor(
    stored: readonly RevokedToken[],
    keep: (revoked: readonly RevokedToken[]) => Promise<unknown>,
    now: () => number,
    age = now,
  ) {
    this.#keep = keep
    this.#now = now
    this.#age = age
    this.#hold(stored)
  }

  /** Called after each revocation. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler)
  }

  isRevoked(claims: Claims): boolean {
    const revoked = this.#held.get(claims.subject)
    return revoked !== undefined && (revoked.tokens.has(claims.id) || claims.issued_ms < revoked.issued_before)
  }

  /** Resolves when the token is dead for good. One after another, so that the bound holds. */
  revoke(claims: Claims): Promise<void> {
    return this.#write(() => this.#rowsFor(claims))
  }

  /** Resolves when every token of the user that was issued so far is dead for good. */
  revokeAll(user: string): Promise<void> {
    return this.#write(() => [this.#all(user)])
  }

  #write(rowsFor: () => RevokedToken[]): Promise<void> {
    const result = this.#last_write.then(async () => {
      const rows = rowsFor()
      await this.#keep(rows)
      this.#hold(rows)
      for (const handler of this.#handlers) handler()
    })
    this.#last_write = result.catch(() => undefined)
    return result
  }

  #rowsFor({ subject: user, id: token, issued_ms: issued_at, expires_ms: expires_at }: Claims): RevokedToken[] {
    this.#dropEnded()
    const row = { user, token, issued_at, expires_at }
    const tokens = this.#held.get(user)?.tokens
    if (tokens === undefined || tokens.size < limits.REVOKED_TOKENS) return [row]
    return [this.#all(user), row]
  }

  #all(user: string): RevokedToken {
    const now = this.#now()
    const { tokens, issued_before = 0 } = this.#held.get(user) ?? {}
    const before = Math.max(now, issued_before, ...[...(tokens?.values() ?? [])].map(held => held.issued_at + 1))
    return { user, token: '', issued_at: before, expires_at: now + limits.TOKEN_LIFETIME_S * 1000 }
  }

  #hold(rows: readonly RevokedToken[]): void {
    for (const { user, token, issued_at, expires_at } of rows) {
      let revoked = this.#held.get(user)
      if (revoked === undefined) this.#held.set(user, (revoked = { tokens: new Map(), issued_before: 0, all_until: 0 }))
      if (token !== '') {
        revoked.tokens.set(token, { issued_at, expires_at })
        continue
      }
      revoked.tokens.clear()
      revoked.issued_before = issued_at
      revoked.all_until = expires_at
    }
  }

  #dropEnded(): void {
    const now = this.#age()
    for (const [user, { tokens, all_until }] of this.#held) {
      for (const [id, { expires_at }] of tokens) if (expires_at <= now) tokens.delete(id)
      if (tokens.size === 0 && all_until <= now) this.#held.delete(user)
    }
  }
}

import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Tokens } from '../auth/tokens.ts'
import { OAuthError } from './oauth-error.ts'

/** What is kept of a client that may refresh: which token is the present one. Nothing in it is secret. */
interface Grant {
  readonly client_id: string
  /** Another with each consent. */
  readonly family: string
  readonly generation: number
  /** Until when the token before the present one is answered again: its client may not have seen the answer. Milliseconds since 1970. */
  readonly earlier_until_ms: number
}

/** Where grants are kept: text under the client's id; null removes. Resolves when it is on disk. */
export type KeepGrant = (client_id: string, body: string | null) => Promise<unknown>

/**
 * Refresh tokens: signed, of a family and a generation. Each refresh makes the next generation. The one before the present one gets the present
 * one again for a while; an older one is a copy that somebody else uses, and ends the family.
 */
export class Grants {
  readonly #tokens: Tokens
  readonly #keep: KeepGrant
  readonly #now: () => number
  readonly #held = new Map<string, Grant>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(stored: readonly string[], tokens: Tokens, keep: KeepGrant, now_ms: () => number) {
    this.#tokens = tokens
    this.#keep = keep
    this.#now = now_ms
    for (const body of stored) {
      const grant = JSON.parse(body) as Grant
      this.#held.set(grant.client_id, grant)
    }
  }

  /** The first refresh token of a new family; one of an earlier consent ends. */
  begin(client_id: string): Promise<string> {
    return this.#inTurn(async () => {
      const family = randomBytes(12).toString('base64url')
      return this.#put({ client_id, family, generation: 1, earlier_until_ms: 0 })
    })
  }

  /**
   * The client of a refresh token, with its next token. Throws `invalid_grant`. `stolen` hears of a token that was used again; the family has
   * ended by then.
   */
  refresh(
    token: string,
    stolen: (client_id: string) => Promise<unknown>,
  ): Promise<{ client_id: string; next: string }> {
    return this.#inTurn(async () => {
      const { client_id, generation, grant } = await this.#read(token)
      const now = this.#now()
      if (generation === grant.generation) {
        const until = now + limits.REFRESH_AGAIN_MS
        return { client_id, next: await this.#put({ ...grant, generation: generation + 1, earlier_until_ms: until }) }
      }
      if (generation === grant.generation - 1 && now < grant.earlier_until_ms)
        return { client_id, next: await this.#mint(grant) }
      await this.#forget(client_id)
      await stolen(client_id)
      throw new OAuthError('invalid_grant', 'The refresh token was used before; sign in again.')
    })
  }

  /** The client of a refresh token that stands, or null. */
  async clientOf(token: string): Promise<string | null> {
    const read = await this.#read(token).catch(() => null)
    return read === null ? null : read.client_id
  }

  end(client_id: string): Promise<void> {
    return this.#inTurn(() => this.#forget(client_id))
  }

  async #read(token: string): Promise<{ client_id: string; generation: number; grant: Grant }> {
    const claims = await this.#tokens.verify('refresh', token).catch(error => {
      if (error instanceof ServiceError) throw new OAuthError('invalid_grant', 'The refresh token is not valid.')
      throw error
    })
    const grant = this.#held.get(claims.subject)
    const [family, generation] = claims.binding.split(' ')
    if (grant === undefined || family !== grant.family)
      throw new OAuthError('invalid_grant', 'The refresh token has ended; sign in again.')
    return { client_id: claims.subject, generation: Number(generation), grant }
  }

  async #forget(client_id: string): Promise<void> {
    if (!this.#held.has(client_id)) return
    await this.#keep(client_id, null)
    this.#held.delete(client_id)
  }

  async #put(grant: Grant): Promise<string> {
    await this.#keep(grant.client_id, JSON.stringify(grant))
    this.#held.set(grant.client_id, grant)
    return this.#mint(grant)
  }

  #mint({ client_id, family, generation }: Grant): Promise<string> {
    return this.#tokens.mint('refresh', client_id, `${family} ${generation}`, limits.REFRESH_LIFETIME_S)
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }
}

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type {
  CreatedLastingToken,
  CreateLastingToken,
  LastingToken,
} from '../../protocol/nouns/accounts/lasting-token.ts'
import { formatTime } from '../../protocol/time.ts'
import type { Right } from '../../protocol/words/token-rights.ts'
import type { Admission, Admissions } from './gatekeeper.ts'
import type { TokenPrincipal } from './principal.ts'

/** In `settings` of the store. */
export const LASTING_TOKENS = 'lasting_tokens'

/** What is kept of one. The secret is kept nowhere: it has 256 random bits, so a plain digest tells nothing of it. */
interface Kept {
  readonly name: string
  readonly id: string
  readonly digest: string
  readonly rights: readonly Right[]
  /** Milliseconds since 1970. */
  readonly created_ms: number
  readonly created_by: string
  readonly expires_ms: number
}

/** `svc_<id>_<secret>`, so that it cannot be taken for a signed token. */
const PREFIX = 'svc_'
const TOKEN = /^svc_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/
const digestOf = (secret: string): Buffer => createHash('sha256').update(`lasting token\n${secret}`).digest()

const shown = ({ name, id, rights, created_ms, created_by, expires_ms }: Kept): LastingToken => ({
  name,
  id,
  rights: [...rights],
  created_at: formatTime(created_ms * 1000),
  created_by,
  expires_at: formatTime(expires_ms * 1000),
})

/**
 * Tokens for programs such as Prometheus: named, with few rights, good for as long as whoever made one said, until it is revoked. All of
 * them are in memory. Changes go one after another; the store is written first, and memory follows when the write is synced.
 */
export class LastingTokens implements Admissions<TokenPrincipal> {
  readonly #keep: (text: string) => Promise<unknown>
  readonly #now: () => number
  #kept: readonly Kept[]
  #last_write: Promise<unknown> = Promise.resolve()

  /** `stored` is what `keep` was given last. The clock is in milliseconds since 1970. */
  constructor(stored: string | undefined, keep: (text: string) => Promise<unknown>, now: () => number) {
    this.#keep = keep
    this.#now = now
    this.#kept = stored === undefined ? [] : (JSON.parse(stored) as Kept[])
  }

  static isOne(token: string): boolean {
    return token.startsWith(PREFIX)
  }

  /** By name; those that have expired too, until they are revoked. */
  list(): LastingToken[] {
    return [...this.#kept].sort((a, b) => (a.name < b.name ? -1 : 1)).map(shown)
  }

  create({ name, rights, expires_s }: CreateLastingToken, created_by: string): Promise<CreatedLastingToken> {
    return this.#write(async () => {
      if (this.#kept.some(kept => kept.name === name))
        throw new ServiceError('token_exists', `There is a token "${name}" already.`)
      if (this.#kept.length >= limits.LASTING_TOKENS)
        throw new ServiceError('too_many_tokens', `There are ${limits.LASTING_TOKENS} tokens, which is the bound.`)
      const id = randomBytes(8).toString('hex')
      const secret = randomBytes(32).toString('base64url')
      const created_ms = this.#now()
      const expires_ms = created_ms + expires_s * 1000
      const digest = digestOf(secret).toString('base64url')
      const kept: Kept = { name, id, digest, rights, created_ms, created_by, expires_ms }
      await this.#put([...this.#kept, kept])
      return { ...shown(kept), token: `${PREFIX}${id}_${secret}` }
    })
  }

  /** It ends at once. */
  revoke(name: string): Promise<LastingToken> {
    return this.#write(async () => {
      const found = this.#kept.find(kept => kept.name === name)
      if (found === undefined) throw new ServiceError('token_not_found', `There is no token "${name}".`)
      await this.#put(this.#kept.filter(kept => kept !== found))
      return shown(found)
    })
  }

  /** Never null: nothing has to be waited for. */
  known(token: string): Admission<TokenPrincipal> {
    const found = this.#find(token)
    if (found === null) throw new ServiceError('unauthenticated', 'The token is not valid.')
    if (this.#now() >= found.expires_ms) throw new ServiceError('token_expired')
    const { name, rights, expires_ms } = found
    return {
      principal: { kind: 'token', name, actor: `token:${name}`, scopes: rights },
      expires_ms,
      holds: () => this.#now() < expires_ms && this.#kept.includes(found),
    }
  }

  async admit(token: string): Promise<Admission<TokenPrincipal>> {
    return this.known(token)
  }

  #find(token: string): Kept | null {
    const [, id, secret] = TOKEN.exec(token) ?? []
    if (id === undefined) return null
    const kept = this.#kept.find(one => one.id === id)
    if (kept === undefined) return null
    return timingSafeEqual(digestOf(secret!), Buffer.from(kept.digest, 'base64url')) ? kept : null
  }

  async #put(kept: readonly Kept[]): Promise<void> {
    await this.#keep(JSON.stringify(kept))
    this.#kept = kept
  }

  #write<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last_write.then(work)
    this.#last_write = result.catch(() => undefined)
    return result
  }
}

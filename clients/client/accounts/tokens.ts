import type {
  CreatedLastingToken,
  CreateLastingToken,
  LastingToken,
} from '../../../protocol/nouns/accounts/lasting-token.ts'
import type { Calls } from '../calls.ts'
import { type List, readPages } from '../pages.ts'

/** Tokens for programs, with few rights; for superusers. */
export class LastingTokens {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** By name. */
  list(most?: number): Promise<List<LastingToken>> {
    return readPages(this.#calls, '/tokens', {}, most)
  }

  /** The answer is the only one that shows the token. */
  async create(token: CreateLastingToken): Promise<CreatedLastingToken> {
    return (await this.#calls.json<CreatedLastingToken>({ method: 'POST', path: '/tokens', json: token })).body
  }

  /** It ends at once. */
  async revoke(name: string): Promise<void> {
    await this.#calls.json({ method: 'DELETE', path: `/tokens/${encodeURIComponent(name)}` })
  }
}

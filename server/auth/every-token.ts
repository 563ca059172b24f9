import { ServiceError } from '../../protocol/errors.ts'
import type { Admission, Admissions } from './gatekeeper.ts'
import { LastingTokens } from './lasting-tokens.ts'
import type { Caller } from './principal.ts'
import type { TokenKind } from './tokens.ts'

/** The kinds of signed tokens that routes and sockets take, each with who answers for it. */
export type Gatekeepers = Readonly<Partial<Record<TokenKind, Admissions<Caller>>>>

/**
 * Who answers for a token of any kind. The kind that a signed token says it is only chooses who checks it; a token that lies about it does
 * not verify there.
 */
export class EveryToken implements Admissions<Caller> {
  readonly #kinds: Gatekeepers
  readonly #all: readonly Admissions<Caller>[]
  readonly #lasting: LastingTokens

  constructor(kinds: Gatekeepers, lasting: LastingTokens) {
    this.#kinds = kinds
    this.#all = Object.values(kinds)
    this.#lasting = lasting
  }

  known(token: string): Admission<Caller> | null {
    if (LastingTokens.isOne(token)) return this.#lasting.known(token)
    for (const gatekeeper of this.#all) {
      const admission = gatekeeper.known(token)
      if (admission !== null) return admission
    }
    return null
  }

  async admit(token: string): Promise<Admission<Caller>> {
    if (LastingTokens.isOne(token)) return this.#lasting.admit(token)
    const gatekeeper = this.#kinds[kindOf(token)]
    if (gatekeeper === undefined) throw new ServiceError('unauthenticated', 'The token is not valid.')
    return gatekeeper.admit(token)
  }
}

/** What the header of a signed token says, unchecked; `access` when it says nothing that is known. */
function kindOf(token: string): TokenKind {
  try {
    const { typ } = JSON.parse(Buffer.from(token.slice(0, Math.min(token.indexOf('.'), 512)), 'base64url').toString())
    if (typ === 'client+jwt') return 'client'
    if (typ === 'panel+jwt') return 'panel'
  } catch {
    // Whoever checks it says what is wrong.
  }
  return 'access'
}

import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { StartedPairing } from '../../protocol/nouns/panel.ts'
import { formatTime } from '../../protocol/time.ts'
import { Attempts } from '../auth/attempts.ts'
import { bucketOf } from '../auth/client-address.ts'

/** For which panel a code was approved, and under which nonce: one that was unpaired since lets nobody in. */
export interface Approval {
  readonly panel: string
  readonly nonce: string
}

/** What one claim alone gets; given back, the next one does. */
export interface Claimed extends Approval {
  giveBack(): void
}

interface Pairing {
  readonly digest: Buffer
  /** As it is counted. */
  readonly address: string
  /** On the clock that never jumps. */
  readonly expires_ms: number
  readonly shown_expiry: string
  approval: Approval | null
}

export interface PairingsClocks {
  /** Microseconds since 1970. */
  now_us(): number
  /** Milliseconds of a clock that never jumps. */
  steady_ms(): number
}

/** Without those that look alike: 0 O, 1 I L, and U V. */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTWXYZ'
const CODE_CHARACTERS = 6
const SECRET_BYTES = 32
const digestOf = (secret: string): Buffer => createHash('sha256').update(`pairing\n${secret}`).digest()
/** Compared with where there is no such code, so that it takes as long. */
const NOBODY = digestOf(randomBytes(SECRET_BYTES).toString('base64url'))

/**
 * Screens that ask to be let in. In memory only: a screen whose code is gone asks for another.
 *
 *   (start) -> pending -> approved -> claimed, and gone
 *                 '----------'--------> expired, and gone
 */
export class Pairings {
  readonly #clocks: PairingsClocks
  readonly #pairings = new Map<string, Pairing>()
  readonly #claims: Attempts
  readonly #approvals: Attempts

  constructor(clocks: PairingsClocks) {
    this.#clocks = clocks
    const bounds = {
      failures: limits.PAIRING_FAILURES,
      window_ms: limits.PAIRING_WINDOW_MS,
      buckets: limits.LOGIN_BUCKETS,
    }
    this.#claims = new Attempts({ ...bounds, whom: 'one address' }, clocks.steady_ms)
    this.#approvals = new Attempts({ ...bounds, whom: 'one user' }, clocks.steady_ms)
  }

  start(client: string): StartedPairing {
    this.#forgetExpired()
    const address = bucketOf(client)
    let [pending, of_address] = [0, 0]
    let first_ms = Number.POSITIVE_INFINITY
    for (const pairing of this.#pairings.values()) {
      pending++
      first_ms = Math.min(first_ms, pairing.expires_ms)
      if (pairing.address === address) of_address++
    }
    const retry_after_s = Math.ceil((first_ms - this.#clocks.steady_ms()) / 1000)
    if (pending >= limits.PAIRINGS_PENDING)
      throw new ServiceError('too_many_pairings', `${pending} pairing codes are pending.`, { retry_after_s })
    if (of_address >= limits.PAIRINGS_OF_ADDRESS)
      throw new ServiceError('too_many_pairings', `${of_address} pairing codes of one address are pending.`, {
        retry_after_s,
      })
    const code = this.#newCode()
    const secret = randomBytes(SECRET_BYTES).toString('base64url')
    const expires_at = formatTime(this.#clocks.now_us() + limits.PAIRING_TTL_MS * 1000)
    const expires_ms = this.#clocks.steady_ms() + limits.PAIRING_TTL_MS
    this.#pairings.set(code, {
      digest: digestOf(secret),
      address,
      expires_ms,
      shown_expiry: expires_at,
      approval: null,
    })
    return { code, secret, expires_at }
  }

  /** `by`: who approves; wrong codes of one user are bounded. A code is approved once. */
  approve(code: string, approval: Approval, by: string): void {
    this.#forgetExpired()
    this.#approvals.begin(by)
    const pairing = this.#pairings.get(code.toUpperCase())
    if (pairing === undefined || pairing.approval !== null) {
      this.#approvals.failed(by)
      throw new ServiceError('pairing_not_found', `The code "${code.toUpperCase()}" is not pending.`)
    }
    this.#approvals.succeeded(by)
    pairing.approval = approval
  }

  /**
   * What the screen gets: an approval, once, or until when it may go on asking. A wrong secret is answered as an unknown code, in the same
   * time. `isGood`: does the approval still stand?
   */
  claim(
    code: string,
    secret: string,
    client: string,
    isGood: (approval: Approval) => boolean,
  ): Claimed | { readonly expires_at: string } {
    this.#forgetExpired()
    const address = bucketOf(client)
    this.#claims.begin(address)
    const name = code.toUpperCase()
    const pairing = this.#pairings.get(name)
    const isRight = timingSafeEqual(digestOf(secret), pairing?.digest ?? NOBODY)
    const isVoid = isRight && pairing!.approval !== null && !isGood(pairing!.approval)
    if (isVoid) this.#pairings.delete(name)
    if (!isRight || isVoid) {
      this.#claims.failed(address)
      throw new ServiceError('pairing_not_found', `The code "${name}" is not pending for this screen.`)
    }
    this.#claims.succeeded(address)
    const { approval, shown_expiry } = pairing!
    if (approval === null) return { expires_at: shown_expiry }
    this.#pairings.delete(name)
    return { ...approval, giveBack: () => this.#pairings.set(name, pairing!) }
  }

  #newCode(): string {
    for (;;) {
      let code = ''
      for (let at = 0; at < CODE_CHARACTERS; at++) code += ALPHABET[randomInt(ALPHABET.length)]
      if (!this.#pairings.has(code)) return code
    }
  }

  #forgetExpired(): void {
    const now_ms = this.#clocks.steady_ms()
    for (const [code, { expires_ms }] of this.#pairings) if (expires_ms <= now_ms) this.#pairings.delete(code)
  }
}

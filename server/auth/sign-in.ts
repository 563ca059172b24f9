import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Account, Accounts } from './accounts.ts'
import { type AttemptBounds, Attempts } from './attempts.ts'
import type { Audit } from './audit.ts'
import { bucketOf } from './client-address.ts'
import type { KnownAddresses } from './known-addresses.ts'

export interface SignInParts {
  readonly accounts: Accounts
  readonly addresses: KnownAddresses
  readonly audit: Audit
  readonly now: () => number
}

const BY_ACCOUNT: AttemptBounds = {
  failures: limits.LOGIN_ACCOUNT_FAILURES,
  window_ms: limits.LOGIN_ACCOUNT_WINDOW_MS,
  buckets: limits.LOGIN_BUCKETS,
  whom: 'one account from addresses that are new to it',
}

/** The bound of each route that needs no credential; each has its own. */
export const byAddress: AttemptBounds = {
  failures: limits.LOGIN_FAILURES,
  window_ms: limits.LOGIN_WINDOW_MS,
  buckets: limits.LOGIN_BUCKETS,
  whom: 'one address',
}

/**
 * A name and a password become an account. Failures count for the address, and for the account when it never signed in from that address:
 * strangers at many addresses get few guesses at one account, and cannot lock its user out of an address that the account knows. Both
 * counts treat names that do not exist like others.
 */
export class SignIn {
  readonly #parts: SignInParts
  readonly #by_address: Attempts
  readonly #by_account: Attempts

  constructor(parts: SignInParts) {
    const { now } = parts
    this.#parts = parts
    this.#by_address = new Attempts(byAddress, now, address => this.#tried(null, address, 'rate_limited'))
    this.#by_account = new Attempts(BY_ACCOUNT, now, name => this.#tried(name, '', 'rate_limited'))
  }

  /** Throws `wrong_credentials`, `rate_limited`, or `too_many_connections` when too many passwords are being checked. */
  async attempt(name: string, password: string, address: string): Promise<Account> {
    const { accounts, addresses, audit } = this.#parts
    const from = bucketOf(address)
    const counts: [attempts: Attempts, key: string][] = [[this.#by_address, from]]
    const is_known = addresses.has(name, from)
    if (!is_known) counts.push([this.#by_account, name])
    const begun: typeof counts = []
    let isSpent = false
    try {
      for (const count of counts) {
        count[0].begin(count[1])
        begun.push(count)
      }
      const account = await accounts.signIn(name, password, is_known)
      if (account === null) {
        isSpent = true
        this.#tried(name, address, 'wrong_credentials')
        throw new ServiceError('wrong_credentials')
      }
      addresses.add(name, from)
      audit.done({ action: 'sign_in', actor: null, object: `user:${name}`, address })
      return account
    } finally {
      for (const [attempts, key] of begun) {
        if (isSpent) attempts.failed(key)
        else attempts.succeeded(key)
      }
    }
  }

  #tried(name: string | null, address: string, result: 'wrong_credentials' | 'rate_limited'): void {
    const { accounts, audit } = this.#parts
    const object = name !== null && accounts.find(name) !== null ? `user:${name}` : null
    audit.tried({ action: 'sign_in', actor: null, object, address, result })
  }
}

import { ServiceError } from '../../protocol/errors.ts'
import type { Accounts } from './accounts.ts'
import type { Standing } from './gatekeeper.ts'
import type { UserPrincipal } from './principal.ts'
import type { Revocations } from './revocations.ts'
import type { Claims } from './tokens.ts'

/** Access tokens: they stand for a user until the user goes, is disabled, changes the password, or signs out. */
export class StandingUsers implements Standing<UserPrincipal> {
  readonly kind = 'access'
  readonly #accounts: Accounts
  readonly #revocations: Revocations

  constructor(accounts: Accounts, revocations: Revocations) {
    this.#accounts = accounts
    this.#revocations = revocations
  }

  principalOf(claims: Claims): UserPrincipal {
    const account = this.#accounts.find(claims.subject)
    if (account === null || account.digest !== claims.binding || account.disabled)
      throw new ServiceError('unauthenticated', 'The user was removed or disabled, or the password has changed since.')
    if (this.#revocations.isRevoked(claims)) throw new ServiceError('unauthenticated', 'The token was signed out.')
    return account.principal
  }
}

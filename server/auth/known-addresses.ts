import { limits } from '../../protocol/limits.ts'
import type { KnownAddress } from '../store/front/requests.ts'

/**
 * From which addresses each user has signed in: the newest `limits.KNOWN_ADDRESSES` of each, as attempts are counted (client-address.ts).
 * Kept on disk, so that a restart makes no user a stranger; written when an address is new or was last written a day ago.
 */
export class KnownAddresses {
  readonly #keep: (known: KnownAddress) => void
  readonly #now: () => number
  /** By user, then by address: when it was written last. The oldest comes first. */
  readonly #held = new Map<string, Map<string, number>>()

  /** `keep` writes and reports its own failures: what it could not write is known until the next start. */
  constructor(stored: readonly KnownAddress[], keep: (known: KnownAddress) => void, now: () => number) {
    this.#keep = keep
    this.#now = now
    for (const known of stored) this.#hold(known)
  }

  has(user: string, address: string): boolean {
    return this.#held.get(user)?.has(address) ?? false
  }

  /** The user has just proved who they are from there. */
  add(user: string, address: string): void {
    const seen_at = this.#now()
    const written_at = this.#held.get(user)?.get(address)
    if (written_at !== undefined && seen_at - written_at < limits.KNOWN_ADDRESS_WRITTEN_MS) return
    const known = { user, address, seen_at }
    this.#hold(known)
    this.#keep(known)
  }

  /** The user is gone. */
  forget(user: string): void {
    this.#held.delete(user)
  }

  #hold({ user, address, seen_at }: KnownAddress): void {
    let addresses = this.#held.get(user)
    if (addresses === undefined) this.#held.set(user, (addresses = new Map()))
    addresses.delete(address)
    addresses.set(address, seen_at)
    for (const oldest of addresses.keys()) {
      if (addresses.size <= limits.KNOWN_ADDRESSES) break
      addresses.delete(oldest)
    }
  }
}

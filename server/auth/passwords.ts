import { hash, type Options, verify } from '@node-rs/argon2'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'

/** argon2id as OWASP recommends it: 19 MiB, two passes, one lane; about 15 ms of a thread of libuv's pool. */
const COST: Options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/**
 * Hashes and checks passwords off the front thread. A check costs the same whether the user exists or not. At most
 * `limits.LOGIN_AT_ONCE` wait at a time; more are refused with 503, so that a flood of sign-ins holds neither memory nor the pool. A
 * flood by strangers leaves some of those places free for users who come from an address that their account knows.
 */
export class Passwords {
  readonly #cost: Options
  /** The hash that a sign-in of an unknown user is checked against. */
  #dummy: Promise<string> | null = null
  #waiting = 0

  /** Tests pass a smaller cost. */
  constructor(cost: Options = COST) {
    this.#cost = cost
  }

  hash(password: string): Promise<string> {
    return this.#counted(limits.LOGIN_AT_ONCE, () => hash(password, this.#cost))
  }

  /** Does the password belong to the hash? Null stands for a user that does not exist; the answer is false, after the same time. */
  verify(password_hash: string | null, password: string, is_known = false): Promise<boolean> {
    return this.#counted(is_known ? limits.LOGIN_AT_ONCE : limits.LOGIN_STRANGERS_AT_ONCE, async () => {
      this.#dummy ??= hash('a password that nobody has', this.#cost)
      const against = password_hash ?? (await this.#dummy)
      return (await verify(against, password)) && password_hash !== null
    })
  }

  async #counted<Result>(most: number, work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting >= most)
      throw new ServiceError('too_many_connections', 'Too many passwords are being checked at once.', {
        retry_after_s: 1,
      })
    this.#waiting++
    try {
      return await work()
    } finally {
      this.#waiting--
    }
  }
}

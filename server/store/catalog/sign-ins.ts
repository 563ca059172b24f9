import { limits } from '../../../protocol/limits.ts'
import type { Connection, Statement } from '../file/database.ts'
import type { KnownAddress, RevokedToken, StoredSignIns } from '../front/requests.ts'

/** The data about sign-ins and sign-outs that survives a restart. Of existing users; bounded for each user. */
export class SignIns {
  readonly #clock: () => number
  readonly #know: Statement
  readonly #trim: Statement
  readonly #revoke: Statement
  readonly #dropAll: Statement
  readonly #dropEnded: Statement
  readonly #forget: readonly Statement[]
  readonly #known: Statement<KnownAddress>
  readonly #revoked: Statement<RevokedToken>

  /** The clock is in microseconds since 1970. */
  constructor(db: Connection, clock: () => number) {
    this.#clock = clock
    const exists = 'WHERE EXISTS (SELECT 1 FROM users WHERE name = @user)'
    this.#know = db.prepare(
      `INSERT INTO known_addresses (user, address, seen_at) SELECT @user, @address, @seen_at ${exists}
       ON CONFLICT (user, address) DO UPDATE SET seen_at = excluded.seen_at`,
    )
    this.#trim = db.prepare(
      `DELETE FROM known_addresses WHERE user = @user AND address NOT IN
       (SELECT address FROM known_addresses WHERE user = @user ORDER BY seen_at DESC LIMIT ${limits.KNOWN_ADDRESSES})`,
    )
    this.#revoke = db.prepare(
      `INSERT INTO revoked_tokens (user, token, issued_at, expires_at) SELECT @user, @token, @issued_at, @expires_at ${exists}
       ON CONFLICT (user, token) DO UPDATE SET issued_at = excluded.issued_at, expires_at = excluded.expires_at`,
    )
    this.#dropAll = db.prepare('DELETE FROM revoked_tokens WHERE user = ?')
    this.#dropEnded = db.prepare('DELETE FROM revoked_tokens WHERE expires_at <= ?')
    this.#forget = ['known_addresses', 'revoked_tokens'].map(table => db.prepare(`DELETE FROM ${table} WHERE user = ?`))
    this.#known = db.prepare('SELECT * FROM known_addresses ORDER BY user, seen_at')
    this.#revoked = db.prepare('SELECT * FROM revoked_tokens WHERE expires_at > ?')
  }

  know(known: KnownAddress): null {
    this.#know.run(known)
    this.#trim.run({ user: known.user })
    return null
  }

  /** Stores revoked tokens of one user. One that stands for all tokens replaces those before. */
  revoke(revoked: readonly RevokedToken[]): null {
    this.#dropEnded.run(this.#now_ms)
    for (const { user, token } of revoked) if (token === '') this.#dropAll.run(user)
    for (const row of revoked) this.#revoke.run(row)
    return null
  }

  /** Removes the data of a user who was deleted. */
  forget(user: string): void {
    for (const statement of this.#forget) statement.run(user)
  }

  list(): StoredSignIns {
    return { known: this.#known.all(), revoked: this.#revoked.all(this.#now_ms) }
  }

  get #now_ms(): number {
    return Math.floor(this.#clock() / 1000)
  }
}

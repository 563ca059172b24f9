import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Connection, Statement } from '../file/database.ts'
import type { PutUser, StoredUser } from '../front/requests.ts'

type UserRow = Omit<StoredUser, 'disabled'> & { disabled: number }

const userOf = (row: UserRow): StoredUser => ({ ...row, disabled: row.disabled === 1 })

const COLUMNS = 'name, password_hash, role, display_name, mail, disabled, created_at'

/** The users. Passwords come only as hashes. */
export class Users {
  readonly #clock: () => number
  readonly #get: Statement<UserRow>
  readonly #all: Statement<UserRow>
  readonly #count: Statement<{ count: number }>
  readonly #put: Statement
  readonly #delete: Statement

  constructor(db: Connection, clock: () => number) {
    this.#clock = clock
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM users WHERE name = ?`)
    this.#all = db.prepare(`SELECT ${COLUMNS} FROM users ORDER BY name`)
    this.#count = db.prepare('SELECT count(*) AS count FROM users')
    this.#put = db.prepare(
      `INSERT INTO users (name, password_hash, superuser, role, display_name, mail, disabled, created_at, updated_at)
       VALUES (@name, @password_hash, @role = 'superuser', @role, @display_name, @mail, @disabled, @now, @now)
       ON CONFLICT (name) DO UPDATE SET password_hash = excluded.password_hash, superuser = excluded.superuser, role = excluded.role,
         display_name = excluded.display_name, mail = excluded.mail, disabled = excluded.disabled, updated_at = excluded.updated_at`,
    )
    this.#delete = db.prepare('DELETE FROM users WHERE name = ?')
  }

  get(name: string): StoredUser | null {
    const row = this.#get.get(name)
    return row ? userOf(row) : null
  }

  list(): StoredUser[] {
    return this.#all.all().map(userOf)
  }

  count(): number {
    return this.#count.get()!.count
  }

  put(user: PutUser): StoredUser {
    const exists = this.#get.get(user.name) !== undefined
    if (exists && user.create) throw new ServiceError('user_exists', `User "${user.name}" exists already.`)
    if (!exists && this.count() >= limits.USERS)
      throw new ServiceError('too_many_users', `There are ${limits.USERS} users; no more are allowed.`)
    const now = this.#clock()
    const { name, password_hash, role, display_name, mail } = user
    this.#put.run({ name, password_hash, role, display_name, mail, disabled: user.disabled ? 1 : 0, now })
    return this.get(user.name)!
  }

  /** True when there was one. */
  delete(name: string): boolean {
    return this.#delete.run(name).changes > 0
  }
}

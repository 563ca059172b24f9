import { createHash } from 'node:crypto'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { OwnUser, User } from '../../protocol/nouns/accounts/user.ts'
import { formatTime } from '../../protocol/time.ts'
import { type Role, SCOPES_OF } from '../../protocol/words/scopes.ts'
import type { Passwords } from './passwords.ts'
import type { UserPrincipal } from './principal.ts'
import type { PutUser, StoredUser, Users } from './users.ts'

/** What tokens carry of a password hash: enough to notice that it changed, nothing to guess the password from. */
export const digestOf = (password_hash: string): string =>
  createHash('sha256').update(`password digest\n${password_hash}`).digest('base64url').slice(0, 22)

/** What may change of a user besides the password. */
export type Profile = Pick<PutUser, 'role' | 'display_name' | 'mail' | 'disabled'>

/** A user in memory, with the digest worked out once. */
export interface Account extends StoredUser {
  readonly digest: string
  readonly principal: UserPrincipal
}

/** The principal stays the same object while it says the same: sockets and remembered tokens are held to it. */
function account(user: StoredUser, before?: Account): Account {
  const { name, role } = user
  const principal: UserPrincipal =
    before?.role === role
      ? before.principal
      : {
          kind: 'user',
          name,
          actor: name,
          role,
          superuser: role === 'superuser',
          scopes: SCOPES_OF[role],
        }
  return { ...user, digest: digestOf(user.password_hash), principal }
}
export const shown = (user: StoredUser): User => ({
  name: user.name,
  role: user.role,
  superuser: user.role === 'superuser',
  display_name: user.display_name,
  mail: user.mail,
  disabled: user.disabled,
  created_at: formatTime(user.created_at),
})

/** To the user. */
export const shownOwn = (user: StoredUser): OwnUser => ({ ...shown(user), scopes: [...SCOPES_OF[user.role]] })

/**
 * The users, held in memory over their store: a request looks its user up without waiting. The store is written first; memory
 * follows when the write is synced. Writes go one after another, so that the checks before them (does the name exist, is it the
 * last superuser) still hold when they land.
 */
export class Accounts {
  readonly #users: Users
  readonly #passwords: Passwords
  readonly #held = new Map<string, Account>()
  #last_write: Promise<unknown> = Promise.resolve()
  readonly #handlers: ((name: string) => void)[] = []

  private constructor(users: Users, passwords: Passwords) {
    this.#users = users
    this.#passwords = passwords
  }

  static async open(users: Users, passwords: Passwords): Promise<Accounts> {
    const accounts = new Accounts(users, passwords)
    for (const user of await users.list()) accounts.#held.set(user.name, account(user))
    return accounts
  }

  find(name: string): Account | null {
    return this.#held.get(name) ?? null
  }

  /** By name. */
  list(): Account[] {
    return [...this.#held.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  get count(): number {
    return this.#held.size
  }

  /** Called with the name after a password, a role or `disabled` changed, or a user went: whoever keeps a token for that user mints a new one. */
  onChange(handler: (name: string) => void): void {
    this.#handlers.push(handler)
  }

  #changed(name: string): void {
    for (const handler of this.#handlers) handler(name)
  }

  /**
   * The user whose name and password these are, or null, after the same time for unknown names and disabled users. `is_known`: who asks is no stranger, and goes
   * before a flood of them.
   */
  async signIn(name: string, password: string, is_known = false): Promise<Account | null> {
    const found = this.find(name)
    const right = await this.#passwords.verify(found?.password_hash ?? null, password, is_known)
    // The account may have changed while the check was away: only the one that was checked counts.
    return right && !found?.disabled && this.find(name) === found ? found : null
  }

  async create(name: string, password: string, role: Role, more: Partial<Profile> = {}): Promise<Account> {
    this.#mayCreate(name)
    const password_hash = await this.#passwords.hash(password)
    return this.#write(async () => {
      this.#mayCreate(name)
      return this.#put({ name, password_hash, role, display_name: null, mail: null, disabled: false, ...more })
    })
  }

  /** Sets a password if the account still has the digest that the caller was given; else `reset_refused`. */
  async setPassword(name: string, digest: string, password: string): Promise<void> {
    this.#mustBe(name, digest)
    const password_hash = await this.#passwords.hash(password)
    await this.#write(async () => {
      await this.#put({ ...this.#mustBe(name, digest), password_hash })
      this.#changed(name)
    })
  }

  /** Throws `wrong_password` when it is another. */
  async checkPassword(name: string, password: string): Promise<void> {
    if ((await this.signIn(name, password, true)) === null) throw new ServiceError('wrong_password')
  }

  /** Throws `wrong_password` when the old one is another, or another by now. */
  async changePassword(name: string, old: string, password: string): Promise<Account> {
    const found = await this.signIn(name, old, true)
    if (found === null) throw new ServiceError('wrong_password')
    const password_hash = await this.#passwords.hash(password)
    return this.#write(async () => {
      const now = this.find(name)
      if (now?.digest !== found.digest) throw new ServiceError('wrong_password')
      const changed = await this.#put({ ...now, password_hash })
      this.#changed(name)
      return changed
    })
  }

  /** `end` ends the tokens that were minted before a user was disabled; it is called before the user is let in again. */
  async change(name: string, change: Partial<Profile>, end: (name: string) => Promise<void>): Promise<Account> {
    return this.#write(async () => {
      const found = this.find(name)
      if (!found) throw new ServiceError('user_not_found', `There is no user ${name}.`)
      const wanted = { ...found, ...change }
      if (wanted.role !== 'superuser' || wanted.disabled) this.#mayLose(found)
      if (found.disabled && !wanted.disabled) await end(name)
      const changed = await this.#put(wanted)
      if (changed.role !== found.role || changed.disabled !== found.disabled) this.#changed(name)
      return changed
    })
  }

  async remove(name: string): Promise<void> {
    await this.#write(async () => {
      const found = this.find(name)
      if (!found) throw new ServiceError('user_not_found', `There is no user ${name}.`)
      this.#mayLose(found)
      await this.#users.remove(name)
      this.#held.delete(name)
      this.#changed(name)
    })
  }

  /** Somebody who can sign in has to be able to manage the others. */
  #mayLose(superuser: Account): void {
    const others = this.list().some(user => user.role === 'superuser' && !user.disabled && user.name !== superuser.name)
    if (superuser.role === 'superuser' && !superuser.disabled && !others)
      throw new ServiceError('last_superuser', `${superuser.name} is the only superuser.`)
  }

  async #put({ name, password_hash, role, display_name, mail, disabled }: PutUser): Promise<Account> {
    const kept = account(
      await this.#users.put({ name, password_hash, role, display_name, mail, disabled }),
      this.#held.get(name),
    )
    this.#held.set(name, kept)
    return kept
  }

  #mayCreate(name: string): void {
    if (this.#held.has(name)) throw new ServiceError('user_exists', `User "${name}" exists already.`)
    if (this.#held.size >= limits.USERS)
      throw new ServiceError('too_many_users', `There are ${limits.USERS} users; no more are allowed.`)
  }

  #mustBe(name: string, digest: string): Account {
    const found = this.find(name)
    if (found?.digest !== digest || found.disabled)
      throw new ServiceError('reset_refused', 'The link was used already, or the password has changed since.')
    return found
  }

  #write<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last_write.then(work)
    this.#last_write = result.catch(() => undefined)
    return result
  }
}

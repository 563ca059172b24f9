import type { PutUser, StoredUser, Users } from '../../server/auth/users.ts'
import type { RevokedToken } from '../../server/store/front/requests.ts'

/** Users in memory. `full` makes every write fail, as a full disk would. */
export class UsersDouble implements Users {
  readonly #held = new Map<string, StoredUser>()
  #created_at = 1_767_225_600_000_000
  readonly revoked: RevokedToken[] = []
  refuse: Error | null = null

  async find(name: string): Promise<StoredUser | null> {
    return this.#held.get(name) ?? null
  }

  async list(): Promise<StoredUser[]> {
    return [...this.#held.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async put(user: PutUser): Promise<StoredUser> {
    if (this.refuse) throw this.refuse
    const stored = { ...user, created_at: this.#held.get(user.name)?.created_at ?? this.#created_at++ }
    this.#held.set(user.name, stored)
    return stored
  }

  async remove(name: string): Promise<boolean> {
    if (this.refuse) throw this.refuse
    return this.#held.delete(name)
  }

  /** Where revoked tokens are kept. */
  async revoke(rows: readonly RevokedToken[]): Promise<void> {
    if (this.refuse) throw this.refuse
    this.revoked.push(...rows)
  }

  async count(): Promise<number> {
    return this.#held.size
  }
}

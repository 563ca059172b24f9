import type { Role } from '../../protocol/words/scopes.ts'

/** What is kept of a user. The password itself is kept nowhere. */
export interface PutUser {
  readonly name: string
  /** PHC text of argon2id. */
  readonly password_hash: string
  readonly role: Role
  /** Null: they show the name. */
  readonly display_name: string | null
  readonly mail: string | null
  /** May not sign in; tokens do not stand. */
  readonly disabled: boolean
}

export interface StoredUser extends PutUser {
  /** Microseconds since 1970. */
  readonly created_at: number
}

/** Where users are kept. Each promise resolves after a synced commit. */
export interface Users {
  find(name: string): Promise<StoredUser | null>
  /** All of them, by name. */
  list(): Promise<StoredUser[]>
  /** Adds the user, or replaces the one of that name, whose `created_at` stays. */
  put(user: PutUser): Promise<StoredUser>
  /** False when there is none of that name. */
  remove(name: string): Promise<boolean>
  count(): Promise<number>
}

/** A user as it is kept. The password itself is kept nowhere. */
export interface StoredUser {
  readonly name: string
  /** PHC text of argon2id. */
  readonly password_hash: string
  readonly superuser: boolean
  /** Microseconds since 1970. */
  readonly created_us: number
}

/** Where users are kept. Each promise resolves after a synced commit. At most `limits.USERS`, checked by the caller. */
export interface Users {
  find(name: string): Promise<StoredUser | null>
  /** All of them, by name. */
  list(): Promise<StoredUser[]>
  /** Adds the user or replaces the one of that name. */
  put(user: StoredUser): Promise<void>
  /** False when there is none of that name. */
  remove(name: string): Promise<boolean>
  count(): Promise<number>
}

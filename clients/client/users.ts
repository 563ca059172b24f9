import type {
  AccessToken,
  ChangeOwnUser,
  ChangeUser,
  CreateUser,
  OwnUser,
  User,
} from '../../protocol/nouns/accounts/user.ts'
import type { Calls } from './calls.ts'
import { type List, readPages } from './pages.ts'

/** Who may sign in; all but `me`, `changeMe` and `changePassword` are for superusers. */
export class Users {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** The user that this client is signed in as, with the scopes of the role. */
  me(): Promise<OwnUser> {
    return this.#calls.get('/users/me')
  }

  /** Your own display name, or, with your password, your mail address. */
  async changeMe(change: ChangeOwnUser): Promise<OwnUser> {
    return (await this.#calls.json<OwnUser>({ method: 'PATCH', path: '/users/me', json: change })).body
  }

  /** By name. */
  list(most?: number): Promise<List<User>> {
    return readPages(this.#calls, '/users', {}, most)
  }

  async add(user: CreateUser): Promise<User> {
    return (await this.#calls.json<User>({ method: 'POST', path: '/users', json: user })).body
  }

  /** What is absent stays. Every token of a user who is disabled ends at once. */
  async change(name: string, change: ChangeUser): Promise<User> {
    const path = `/users/${encodeURIComponent(name)}`
    return (await this.#calls.json<User>({ method: 'PATCH', path, json: change })).body
  }

  /** Every token of theirs ends at once. */
  async remove(name: string): Promise<void> {
    await this.#calls.json({ method: 'DELETE', path: `/users/${encodeURIComponent(name)}` })
  }

  /** With a token of a link for a new password; needs no sign-in. Every token of the user ends. */
  async resetPassword(token: string, password: string): Promise<void> {
    await this.#calls.json({ method: 'POST', path: '/password-reset', json: { token, password } })
  }

  /** Your own. Every token of yours ends, that of this client too; the answer is a new one. */
  async changePassword(old: string, password: string): Promise<AccessToken> {
    const json = { old, new: password }
    return (await this.#calls.json<AccessToken>({ method: 'POST', path: '/users/me/password', json })).body
  }
}

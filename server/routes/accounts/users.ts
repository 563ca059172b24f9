import Type from 'typebox'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import {
  AccessToken,
  ChangeOwnUser,
  ChangePassword,
  ChangeUser,
  CreateUser,
  OwnUser,
  RecoverPassword,
  ResetPassword,
  User,
  UserName,
} from '../../../protocol/nouns/accounts/user.ts'
import type { Role } from '../../../protocol/words/scopes.ts'
import { type Accounts, type Profile, shown, shownOwn } from '../../auth/accounts.ts'
import type { Attempts } from '../../auth/attempts.ts'
import type { Audit } from '../../auth/audit.ts'
import { bucketOf } from '../../auth/client-address.ts'
import type { KnownAddresses } from '../../auth/known-addresses.ts'
import type { Revocations } from '../../auth/revocations.ts'
import type { Tokens } from '../../auth/tokens.ts'
import { accepted, existing, nothing, ok, type Route, route } from '../../http/route.ts'
import type { SessionCookie } from '../../http/session-cookie.ts'
import type { ResetLinks } from '../../mail/reset-links.ts'
import type { Log } from '../../observe/serve-log.ts'
import { closed, listOf, okPage, pageQuery } from '../queries.ts'

export interface UserServices {
  readonly accounts: Accounts
  readonly tokens: Tokens
  /** Counts requests for a reset, all of them. */
  readonly recoveries: Attempts
  /** Counts reset tokens that do not verify. */
  readonly resets: Attempts
  /** Counts wrong old passwords, by user. */
  readonly changes: Attempts
  readonly addresses: KnownAddresses
  readonly revocations: Revocations
  readonly session: SessionCookie
  readonly audit: Audit
  readonly reset_links: Pick<ResetLinks, 'deliver'>
  readonly log: Log
}

const tag = 'users'
/** Between the answer to a request for a new password and the work that it takes when the user exists. */
const RECOVERY_DELAY_MS = 10
const SAME_ANSWER = accepted({ detail: 'If there is such a user, the way to a new password is on its way.' })

const isWrongPassword = (error: unknown): boolean => error instanceof ServiceError && error.code === 'wrong_password'

/** Throws `validation` when the two contradict each other. Undefined: neither names a role. */
function roleOf({ role, superuser }: { role?: Role; superuser?: boolean }): Role | undefined {
  if (role === undefined) return superuser === true ? 'superuser' : undefined
  if (superuser !== undefined && superuser !== (role === 'superuser')) {
    const errors = [{ loc: 'body.superuser', msg: `contradicts the role "${role}"; give one of the two` }]
    throw new ServiceError('validation', 'The body was refused.', { errors })
  }
  return role
}

export function userRoutes(services: UserServices): Route[] {
  const { accounts, tokens, recoveries, resets, changes, addresses, revocations, session, audit, reset_links, log } =
    services
  const endTokens = (name: string): Promise<void> => revocations.revokeAll(name)
  /** Work that a wrong password ends: so many of a user in a while. */
  const counted = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
    changes.begin(name)
    try {
      const result = await work()
      changes.succeeded(name)
      return result
    } catch (error) {
      if (isWrongPassword(error)) changes.failed(name)
      else changes.succeeded(name)
      throw error
    }
  }
  return [
    route({
      method: 'GET',
      path: '/users/me',
      scope: 'self',
      tag,
      summary: 'Returns the user of this request, with the scopes of the role.',
      answers: { 200: OwnUser },
      handle: ({ caller }) => {
        const account = accounts.find(caller.name)
        if (account === null) throw new ServiceError('unauthenticated')
        return ok(shownOwn(account))
      },
    }),
    route({
      method: 'PATCH',
      path: '/users/me',
      scope: 'self',
      tag,
      summary: 'Changes your display name or, with your password, your mail address.',
      body: ChangeOwnUser,
      audit: { action: 'user_changed', object: ({ caller }) => `user:${caller.name}` },
      answers: { 200: OwnUser },
      refuses: ['wrong_password', 'rate_limited', 'disk_full'],
      handle: async ({ body: { password, ...change }, caller: { name } }) => {
        if (change.mail !== undefined && change.mail !== accounts.find(name)?.mail)
          await counted(name, () => accounts.checkPassword(name, password ?? ''))
        return ok(shownOwn(await accounts.change(name, change, endTokens)))
      },
    }),
    route({
      method: 'GET',
      path: '/users',
      scope: 'admin',
      tag,
      summary: 'Lists the users by name.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(User) },
      handle: ({ query: { limit, offset } }) => {
        const all = accounts.list()
        return okPage({ items: all.slice(offset, offset + limit).map(shown), count: all.length }, offset)
      },
    }),
    route({
      method: 'POST',
      path: '/users',
      scope: 'admin',
      tag,
      summary: 'Adds a user.',
      body: CreateUser,
      audit: { action: 'user_created', object: ({ body }) => `user:${body.name}` },
      answers: { 201: User },
      refuses: ['user_exists', 'too_many_users', 'disk_full'],
      handle: async ({ body }) => {
        const { name, password, display_name = null, mail = null } = body
        const role = roleOf(body) ?? 'editor'
        const account = await accounts.create(name, password, role, { display_name, mail })
        return { status: 201, body: shown(account) }
      },
    }),
    route({
      method: 'POST',
      path: '/users/me/password',
      scope: 'self',
      tag,
      summary:
        'Changes your password. All your tokens end; the answer holds a new one, in the cookie too where the request came with it.',
      body: ChangePassword,
      body_limit: 16 * 1024,
      audit: { action: 'password_changed', object: ({ caller }) => `user:${caller.name}` },
      answers: { 200: AccessToken },
      refuses: ['wrong_password', 'rate_limited', 'disk_full'],
      handle: async ({ body, caller, address, by_cookie, host, is_https }) => {
        const { name } = caller
        const told = { action: 'password_changed', actor: name, object: `user:${name}`, address } as const
        const account = await counted(name, () => accounts.changePassword(name, body.old, body.new)).catch(error => {
          if (isWrongPassword(error)) audit.tried({ ...told, result: 'wrong_password' })
          throw error
        })
        const lifetime_s = limits.TOKEN_LIFETIME_S
        const access_token = await tokens.mint('access', name, account.digest, lifetime_s)
        const headers: Record<string, string> = by_cookie
          ? { 'set-cookie': session.set(access_token, host, is_https) }
          : {}
        return { status: 200, body: { access_token, token_type: 'bearer', expires_in: lifetime_s }, headers }
      },
    }),
    route({
      method: 'PATCH',
      path: '/users/{name}',
      scope: 'admin',
      object: 'any',
      tag,
      summary: 'Changes a user. With another role, or disabled, the websockets of the user end at once.',
      params: { name: existing(UserName, 'user_not_found') },
      body: ChangeUser,
      audit: { action: 'user_changed', object: ({ params }) => `user:${params.name}` },
      answers: { 200: User },
      refuses: ['last_superuser', 'disk_full'],
      handle: async ({ params: { name }, body }) => {
        const { superuser: _, ...rest } = body
        const was = accounts.find(name)?.role
        // "No superuser" changes nothing of a user who is none.
        const role = roleOf(body) ?? (body.superuser === false && was === 'superuser' ? 'editor' : undefined)
        const change: Partial<Profile> = role === undefined ? rest : { ...rest, role }
        return ok(shown(await accounts.change(name, change, endTokens)))
      },
    }),
    route({
      method: 'DELETE',
      path: '/users/{name}',
      scope: 'admin',
      object: 'any',
      tag,
      summary: 'Removes a user; all tokens of the user end at once.',
      params: { name: existing(UserName, 'user_not_found') },
      audit: { action: 'user_removed', object: ({ params }) => `user:${params.name}` },
      answers: { 204: null },
      refuses: ['last_superuser', 'disk_full'],
      handle: async ({ params }) => {
        await accounts.remove(params.name)
        addresses.forget(params.name)
        return nothing
      },
    }),
    route({
      method: 'POST',
      path: '/password-recovery',
      scope: 'open',
      tag,
      summary: 'Requests a reset link for a password. The answer does not show whether the user exists.',
      body: RecoverPassword,
      body_limit: 16 * 1024,
      form: true,
      address: true,
      answers: { 202: Type.Object({ detail: Type.String() }) },
      refuses: ['rate_limited'],
      handle: ({ body, address }) => {
        const bucket = bucketOf(address)
        recoveries.begin(bucket)
        recoveries.failed(bucket)
        // When the answer has reached its client: right behind it, the work for a user who exists would still delay it measurably.
        setTimeout(() => {
          const account = accounts.find(body.username)
          const object = account === null ? null : `user:${account.name}`
          audit.tried({ action: 'password_recovery', actor: null, object, address, result: 'ok' })
          if (account === null || account.disabled) return
          tokens.mint('reset', account.name, account.digest, limits.RESET_LIFETIME_S).then(
            token => reset_links.deliver(account, token),
            error => log.error('reset_not_minted', { error }),
          )
        }, RECOVERY_DELAY_MS).unref()
        return SAME_ANSWER
      },
    }),
    route({
      method: 'POST',
      path: '/password-reset',
      scope: 'open',
      tag,
      summary: 'Sets a new password with a reset token, which works once. All tokens of the user end.',
      body: ResetPassword,
      body_limit: 16 * 1024,
      form: true,
      address: true,
      answers: { 204: null },
      refuses: ['reset_refused', 'rate_limited', 'disk_full'],
      handle: async ({ body, address }) => {
        const bucket = bucketOf(address)
        resets.begin(bucket)
        let user: string | null = null
        try {
          const claims = await tokens.verify('reset', body.token)
          user = claims.subject
          await accounts.setPassword(user, claims.binding, body.password)
        } catch (error) {
          const isToken = error instanceof ServiceError && error.status === 401
          const refusal = isToken ? new ServiceError('reset_refused') : error
          const isRefused = refusal instanceof ServiceError && refusal.code === 'reset_refused'
          if (isRefused) resets.failed(bucket)
          else resets.succeeded(bucket)
          const object = user === null ? null : `user:${user}`
          const told = { action: 'password_reset', actor: null, object, address } as const
          if (isRefused) audit.tried({ ...told, result: refusal.code })
          throw refusal
        }
        resets.succeeded(bucket)
        addresses.add(user, bucket)
        audit.done({ action: 'password_reset', actor: null, object: `user:${user}`, address })
        return nothing
      },
    }),
  ]
}

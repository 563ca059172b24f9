import Type from 'typebox'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { CreateUser, RecoverPassword, ResetPassword, User, UserName } from '../../protocol/nouns/user.ts'
import { type Accounts, shown } from '../auth/accounts.ts'
import type { Attempts } from '../auth/attempts.ts'
import { bucketOf } from '../auth/client-address.ts'
import type { Tokens } from '../auth/tokens.ts'
import { accepted, existing, nothing, ok, type Route, route } from '../http/route.ts'
import type { Log } from '../observe/serve-log.ts'
import { closed, listOf, pageQuery } from './queries.ts'

export interface UserServices {
  readonly accounts: Accounts
  readonly tokens: Tokens
  /** Counts requests for a reset, all of them. */
  readonly recoveries: Attempts
  /** Brings a reset token to whoever may have it; runs after the answer and reports its own failures. */
  readonly deliverReset: (name: string, token: string) => void
  readonly log: Log
}

const tag = 'users'
const SAME_ANSWER = accepted({ detail: 'If there is such a user, the way to a new password is on its way.' })

export function userRoutes({ accounts, tokens, recoveries, deliverReset, log }: UserServices): Route[] {
  return [
    route({
      method: 'GET',
      path: '/users/me',
      who: 'user',
      tag,
      summary: 'Who you are.',
      answers: { 200: User },
      handle: ({ user }) => {
        const account = accounts.find(user.name)
        if (account === null) throw new ServiceError('unauthenticated')
        return ok(shown(account))
      },
    }),
    route({
      method: 'GET',
      path: '/users',
      who: 'superuser',
      tag,
      summary: 'The users, by name.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(User) },
      handle: ({ query: { limit, offset } }) => {
        const all = accounts.list()
        return ok({ items: all.slice(offset, offset + limit).map(shown), count: all.length })
      },
    }),
    route({
      method: 'POST',
      path: '/users',
      who: 'superuser',
      tag,
      summary: 'Adds a user.',
      body: CreateUser,
      answers: { 201: User },
      refuses: ['user_exists', 'too_many_users', 'disk_full'],
      handle: async ({ body }) => ({
        status: 201,
        body: shown(await accounts.create(body.name, body.password, body.superuser ?? false)),
      }),
    }),
    route({
      method: 'DELETE',
      path: '/users/{name}',
      who: 'superuser',
      tag,
      summary: 'Removes a user; every token of theirs ends at once.',
      params: { name: existing(UserName, 'user_not_found') },
      answers: { 204: null },
      refuses: ['last_superuser', 'disk_full'],
      handle: async ({ params }) => {
        await accounts.remove(params.name)
        return nothing
      },
    }),
    route({
      method: 'POST',
      path: '/password-recovery',
      who: 'nobody',
      tag,
      summary: 'Asks for a way to a new password. The answer does not tell whether the user exists.',
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
        // After the answer, so that its time tells nothing either.
        setImmediate(() => {
          const account = accounts.find(body.username)
          if (account === null) return
          tokens.mint('reset', account.name, account.digest, limits.RESET_LIFETIME_S).then(
            token => deliverReset(account.name, token),
            error => log.error('reset_not_minted', { error }),
          )
        })
        return SAME_ANSWER
      },
    }),
    route({
      method: 'POST',
      path: '/password-reset',
      who: 'nobody',
      tag,
      summary: 'Sets a new password with a reset token, once. Every token of the user ends.',
      body: ResetPassword,
      body_limit: 16 * 1024,
      form: true,
      address: true,
      answers: { 204: null },
      refuses: ['reset_refused', 'rate_limited', 'disk_full'],
      handle: async ({ body, address }) => {
        const bucket = bucketOf(address)
        recoveries.begin(bucket)
        try {
          const claims = await tokens.verify('reset', body.token)
          await accounts.setPassword(claims.subject, claims.password_digest, body.password)
        } catch (error) {
          recoveries.failed(bucket)
          const isToken = error instanceof ServiceError && error.status === 401
          throw isToken ? new ServiceError('reset_refused') : error
        }
        recoveries.succeeded(bucket)
        return nothing
      },
    }),
  ]
}

import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { AccessToken, Credentials } from '../../protocol/nouns/user.ts'
import type { Accounts } from '../auth/accounts.ts'
import type { Attempts } from '../auth/attempts.ts'
import { bucketOf } from '../auth/client-address.ts'
import type { Tokens } from '../auth/tokens.ts'
import { ok, type Route, route } from '../http/route.ts'

export interface LoginServices {
  readonly accounts: Accounts
  readonly tokens: Tokens
  readonly attempts: Attempts
}

export function loginRoutes({ accounts, tokens, attempts }: LoginServices): Route[] {
  return [
    route({
      method: 'POST',
      path: '/login/access-token',
      who: 'nobody',
      tag: 'users',
      summary: 'Signs in, with a form or with JSON.',
      body: Credentials,
      body_limit: 16 * 1024,
      form: true,
      address: true,
      answers: { 200: AccessToken },
      refuses: ['wrong_credentials', 'rate_limited'],
      handle: async ({ body, address }) => {
        const bucket = bucketOf(address)
        attempts.begin(bucket)
        const account = await accounts.signIn(body.username, body.password).catch(error => {
          attempts.succeeded(bucket)
          throw error
        })
        if (account === null) {
          attempts.failed(bucket)
          throw new ServiceError('wrong_credentials')
        }
        attempts.succeeded(bucket)
        const lifetime_s = limits.TOKEN_LIFETIME_S
        const access_token = await tokens.mint('access', account.name, account.digest, lifetime_s)
        return ok({ access_token, token_type: 'bearer', expires_in: lifetime_s })
      },
    }),
  ]
}

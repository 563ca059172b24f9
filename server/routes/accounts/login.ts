import { limits } from '../../../protocol/limits.ts'
import { AccessToken, Credentials } from '../../../protocol/nouns/accounts/user.ts'
import type { Revocations } from '../../auth/revocations.ts'
import type { SignIn } from '../../auth/sign-in.ts'
import type { Tokens } from '../../auth/tokens.ts'
import { nothing, ok, type Route, route } from '../../http/route.ts'

export interface LoginServices {
  readonly sign_in: SignIn
  readonly tokens: Tokens
  readonly revocations: Revocations
}

export function loginRoutes({ sign_in, tokens, revocations }: LoginServices): Route[] {
  return [
    route({
      method: 'POST',
      path: '/login/access-token',
      scope: 'open',
      tag: 'users',
      summary: 'Signs in with a form or with JSON.',
      body: Credentials,
      body_limit: 16 * 1024,
      form: true,
      address: true,
      answers: { 200: AccessToken },
      refuses: ['wrong_credentials', 'rate_limited'],
      handle: async ({ body, address }) => {
        const { name, digest } = await sign_in.attempt(body.username, body.password, address)
        const lifetime_s = limits.TOKEN_LIFETIME_S
        const access_token = await tokens.mint('access', name, digest, lifetime_s)
        return ok({ access_token, token_type: 'bearer', expires_in: lifetime_s })
      },
    }),
    route({
      method: 'POST',
      path: '/logout',
      scope: 'self',
      tag: 'users',
      summary: 'Signs out: ends the token of this request and the websockets that use it.',
      token: true,
      audit: { action: 'sign_out', object: ({ caller }) => `user:${caller.name}` },
      answers: { 204: null },
      refuses: ['disk_full'],
      handle: async ({ token }) => {
        await revocations.revoke(await tokens.verify('access', token))
        return nothing
      },
    }),
  ]
}

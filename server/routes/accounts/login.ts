import { limits } from '../../../protocol/limits.ts'
import { AccessToken, Credentials, Session } from '../../../protocol/nouns/accounts/user.ts'
import { shownOwn } from '../../auth/accounts.ts'
import type { Revocations } from '../../auth/revocations.ts'
import type { SignIn } from '../../auth/sign-in.ts'
import type { Tokens } from '../../auth/tokens.ts'
import { nothing, ok, type Route, route } from '../../http/route.ts'
import type { SessionCookie } from '../../http/session-cookie.ts'

export interface LoginServices {
  readonly sign_in: SignIn
  readonly tokens: Tokens
  readonly revocations: Revocations
  readonly session: SessionCookie
}

export function loginRoutes({ sign_in, tokens, revocations, session }: LoginServices): Route[] {
  const lifetime_s = limits.TOKEN_LIFETIME_S
  const form = {
    method: 'POST',
    scope: 'open',
    tag: 'users',
    body: Credentials,
    body_limit: 16 * 1024,
    form: true,
    address: true,
    refuses: ['wrong_credentials', 'rate_limited'],
  } as const
  return [
    route({
      ...form,
      path: '/login/access-token',
      summary: 'Signs in with a form or with JSON.',
      answers: { 200: AccessToken },
      handle: async ({ body, address }) => {
        const { name, digest } = await sign_in.attempt(body.username, body.password, address)
        const access_token = await tokens.mint('access', name, digest, lifetime_s)
        return ok({ access_token, token_type: 'bearer', expires_in: lifetime_s })
      },
    }),
    route({
      ...form,
      path: '/login/session',
      summary: 'Signs a browser in: sets a cookie with a token, which scripts cannot read.',
      answers: { 200: Session },
      handle: async ({ body, address, host, is_https }) => {
        const account = await sign_in.attempt(body.username, body.password, address)
        const token = await tokens.mint('access', account.name, account.digest, lifetime_s)
        const headers = { 'set-cookie': session.set(token, host, is_https) }
        return { status: 200, body: { user: shownOwn(account), expires_in: lifetime_s }, headers }
      },
    }),
    route({
      method: 'POST',
      path: '/logout',
      scope: 'self',
      tag: 'users',
      summary: 'Signs out: ends the token of this request and the websockets that use it, and clears the cookie.',
      token: true,
      address: true,
      audit: { action: 'sign_out', object: ({ caller }) => `user:${caller.name}` },
      answers: { 204: null },
      refuses: ['disk_full'],
      handle: async ({ token, by_cookie, host, is_https }) => {
        await revocations.revoke(await tokens.verify('access', token))
        return by_cookie ? { status: 204, headers: { 'set-cookie': session.cleared(host, is_https) } } : nothing
      },
    }),
  ]
}

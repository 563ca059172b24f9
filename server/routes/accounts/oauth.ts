import Type from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { SCOPES } from '../../../protocol/words/scopes.ts'
import type { Attempts } from '../../auth/attempts.ts'
import { bucketOf } from '../../auth/client-address.ts'
import { type Answer, type Route, route } from '../../http/route.ts'
import { CONSENT_STYLE, type Consent, consentPage, refusalPage } from '../../oauth/consent-page.ts'
import type { OAuth } from '../../oauth/oauth.ts'
import { OAuthError } from '../../oauth/oauth-error.ts'
import { sourceOf } from '../../oauth/redirects.ts'
import type { Registrations } from '../../oauth/registrations.ts'
import { closed } from '../queries.ts'

export interface OAuthServices {
  readonly oauth: OAuth
  readonly registrations: Registrations
  /** Counts registrations of one address, all of them. */
  readonly registering: Attempts
  /** As browsers and agents reach this engine; null: as the request says. */
  readonly public_url: string | null
}

const tag = 'oauth'
const PAGE = 'text/html; charset=utf-8'
const Text = Type.String({ maxLength: limits.OAUTH_FIELD_CHARACTERS })
const fields = (...names: string[]) =>
  Type.Object(Object.fromEntries(names.map(name => [name, Type.Optional(Text)])), { additionalProperties: true })
const JSON_OBJECT = Type.Object({}, { additionalProperties: true })
const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' }

const json = (status: number, body: unknown): Answer => ({ status, body, headers: NO_STORE })
const page = (status: number, html: string, leads_to: string): Answer => ({
  status,
  content: { type: PAGE, bytes: html, page: true, leads_to },
})
const asked = (consent: Consent, status = 200): Answer => page(status, consentPage(consent), sourceOf(consent.goes_to))
const away = (location: string): Answer => ({ status: 302, headers: { location, ...NO_STORE } })

/** What went wrong, as OAuth clients read it. */
async function answered(work: () => Answer | Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return json(error.status, { error: error.code, error_description: error.message })
  }
}

/** What went wrong, as a person reads it. */
async function shown(work: () => Answer | Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    return page(400, refusalPage(error.message), "'self'")
  }
}

/** Members that are texts; others and those that stand there twice are refused before. */
const texts = (given: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(given as object).filter(([, value]) => typeof value === 'string'))

export function oauthRoutes({ oauth, registrations, registering, public_url }: OAuthServices): Route[] {
  const issuerOf = (host: string): string => public_url ?? `http://${host}`
  const resource = (issuer: string): Answer =>
    json(200, {
      resource: `${issuer}/mcp`,
      authorization_servers: [issuer],
      scopes_supported: SCOPES,
      bearer_methods_supported: ['header'],
      resource_name: 'flow engine',
    })
  return [
    ...['', '/mcp'].map(of =>
      route({
        method: 'GET',
        path: `/.well-known/oauth-protected-resource${of}`,
        scope: 'open',
        tag,
        summary: 'Says who signs agents in to the MCP endpoint (RFC 9728).',
        answers: { 200: JSON_OBJECT },
        handle: ({ host }) => resource(issuerOf(host)),
      }),
    ),
    route({
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      scope: 'open',
      tag,
      summary: 'Describes how agents sign in (RFC 8414).',
      answers: { 200: JSON_OBJECT },
      handle: ({ host }) => {
        const issuer = issuerOf(host)
        return json(200, {
          issuer,
          authorization_endpoint: `${issuer}/oauth/authorize`,
          token_endpoint: `${issuer}/oauth/token`,
          registration_endpoint: `${issuer}/oauth/register`,
          revocation_endpoint: `${issuer}/oauth/revoke`,
          scopes_supported: SCOPES,
          response_types_supported: ['code'],
          response_modes_supported: ['query'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          token_endpoint_auth_methods_supported: ['none'],
          revocation_endpoint_auth_methods_supported: ['none'],
          code_challenge_methods_supported: ['S256'],
          authorization_response_iss_parameter_supported: true,
        })
      },
    }),
    route({
      method: 'POST',
      path: '/oauth/register',
      scope: 'open',
      tag,
      summary: 'Registers a program that wants to sign in (RFC 7591). It can do nothing until a user lets it in.',
      body: JSON_OBJECT,
      body_limit: limits.OAUTH_BODY_BYTES,
      form: true,
      address: true,
      answers: { 201: JSON_OBJECT, 400: JSON_OBJECT },
      refuses: ['rate_limited'],
      handle: ({ body, address }) =>
        answered(() => {
          const bucket = bucketOf(address)
          registering.begin(bucket)
          registering.failed(bucket)
          const { created_ms, ...registered } = registrations.register(body)
          return json(201, {
            ...registered,
            client_id_issued_at: Math.floor(created_ms / 1000),
            token_endpoint_auth_method: 'none',
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
          })
        }),
    }),
    route({
      method: 'GET',
      path: '/oauth/style.css',
      scope: 'open',
      tag,
      summary: 'Returns the style of the consent page.',
      hidden: true,
      answers: { 200: { media: 'text/css; charset=utf-8' } },
      handle: () => ({ status: 200, content: { type: 'text/css; charset=utf-8', bytes: CONSENT_STYLE } }),
    }),
    route({
      method: 'GET',
      path: '/oauth/authorize',
      scope: 'open',
      tag,
      summary: 'Shows the page on which a user lets a program in, or refuses it. It has no script.',
      query: Type.Object(
        {
          response_type: Type.Optional(Text),
          client_id: Type.Optional(Text),
          redirect_uri: Type.Optional(Text),
          code_challenge: Type.Optional(Text),
          code_challenge_method: Type.Optional(Text),
          scope: Type.Optional(Text),
          state: Type.Optional(Text),
          resource: Type.Optional(Text),
          prompt: Type.Optional(Text),
          nonce: Type.Optional(Text),
        },
        closed,
      ),
      answers: { 200: { media: PAGE }, 302: null, 400: { media: PAGE } },
      handle: ({ query, host }) =>
        shown(() => {
          const answer = oauth.authorize(texts(query), issuerOf(host))
          return 'location' in answer ? away(answer.location) : asked(answer.page)
        }),
    }),
    route({
      method: 'POST',
      path: '/oauth/authorize',
      scope: 'open',
      tag,
      summary: 'Takes the decision of a user, with name and password, and sends the program its code.',
      body: fields('request', 'decision', 'username', 'password'),
      body_limit: limits.OAUTH_BODY_BYTES,
      form: true,
      address: true,
      answers: { 302: null, 400: { media: PAGE }, 401: { media: PAGE }, 403: { media: PAGE }, 429: { media: PAGE } },
      refuses: ['disk_full', 'too_many_connections'],
      handle: ({ body, address }) =>
        shown(async () => {
          const decided = await oauth.decide(texts(body), address)
          return 'location' in decided ? away(decided.location) : asked(decided.page, decided.status)
        }),
    }),
    route({
      method: 'POST',
      path: '/oauth/token',
      scope: 'open',
      tag,
      summary: 'Exchanges a code or a refresh token for tokens.',
      body: fields(
        'grant_type',
        'code',
        'redirect_uri',
        'client_id',
        'code_verifier',
        'refresh_token',
        'scope',
        'resource',
      ),
      body_limit: limits.OAUTH_BODY_BYTES,
      form: true,
      answers: { 200: JSON_OBJECT, 400: JSON_OBJECT, 401: JSON_OBJECT },
      refuses: ['disk_full'],
      handle: ({ body }) => answered(async () => json(200, await oauth.token(texts(body)))),
    }),
    route({
      method: 'POST',
      path: '/oauth/revoke',
      scope: 'open',
      tag,
      summary: 'Ends an access or refresh token, and all other tokens of its client (RFC 7009).',
      body: fields('token', 'token_type_hint', 'client_id'),
      body_limit: limits.OAUTH_BODY_BYTES,
      form: true,
      answers: { 200: null },
      refuses: ['disk_full'],
      handle: ({ body }) =>
        answered(async () => {
          await oauth.revoke(texts(body))
          return { status: 200, headers: NO_STORE }
        }),
    }),
  ]
}

/** For the `WWW-Authenticate` of the MCP endpoint. */
export const resourceMetadataOf = (issuer: string): string => `${issuer}/.well-known/oauth-protected-resource/mcp`

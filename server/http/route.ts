import type { Static, TObject, TSchema } from 'typebox'
import type { ErrorCode } from '../../protocol/errors.ts'
import type { AuditAction } from '../../protocol/words/audit-actions.ts'
import type { Caller, ObjectRule, RouteScope, UserPrincipal } from '../auth/principal.ts'
import type { Upload } from './upload.ts'

/**
 * What a route is: one declaration from which come the check of who may call it, the checks of path, query and body, and its
 * entry in OpenAPI. There is no default for `scope`, nor for `object` where the path names something: a route that does not say who may
 * call it, or whether a panel may touch what it names, does not compile.
 */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A part of the path. One that does not match its schema names nothing (`missing`, a 404) or is refused as input (`null`, a 422). */
export interface Parameter {
  readonly schema: TSchema
  readonly missing: ErrorCode | null
}
/** The name of something that must exist already. */
export const existing = (schema: TSchema, missing: ErrorCode): Parameter => ({ schema, missing })
/** The name of something that the request may create. */
export const created = (schema: TSchema): Parameter => ({ schema, missing: null })

export interface Answer {
  readonly status: number
  /** Sent as JSON, unless `content` is set. */
  readonly body?: unknown
  /** The body may be long: its JSON is made in slices. It must not change meanwhile. */
  readonly long?: boolean
  /** Sent as it is, with the media type given. */
  readonly content?: {
    readonly type: string
    readonly bytes: string | Uint8Array
    /** The content is a page, which may load files from this engine. `app`: a page of the web app. */
    readonly page?: boolean | 'app'
    /** Of a page with a form: beside this engine, the origin or scheme that the answer to the form may lead to. */
    readonly leads_to?: string
  }
  /** Sent as it is made, in place of `body` and `content`. */
  readonly stream?: StreamContent
  /** Names in lower case. Carriage returns, line feeds and NUL are taken out of the values. */
  readonly headers?: Readonly<Record<string, string>>
}
/** Bytes that are made while they are sent: one chunk is asked for when the socket has taken the one before it. */
export interface StreamContent {
  readonly type: string
  /** Bytes of all chunks together; null when unknown: then the answer is sent chunked. */
  readonly length: number | null
  /** Its iterator's `return` is called in every case, also when no chunk was asked for. A chunk's memory may be used again for the next. */
  readonly chunks: AsyncIterable<Uint8Array>
}
export const ok = (body: unknown): Answer => ({ status: 200, body })
export const okLong = (body: unknown): Answer => ({ status: 200, body, long: true })
export const accepted = (body: unknown): Answer => ({ status: 202, body })
export const nothing: Answer = { status: 204 }

/** What a status answers with: JSON of a schema, another media type or one of several, or nothing (null). */
export type AnswerShape = TSchema | { readonly media: string | readonly string[] } | null

export interface RouteRequest<Params = Record<string, string>, Query = unknown, Body = unknown, Who = Caller> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** Who makes the request; null for a route that is open. */
  readonly caller: Who
  /** The body as it comes, of a route with `upload: true`; else null. */
  readonly upload: Upload | null
  /** The header fields that the route declares and the request carries. */
  readonly headers: Readonly<Record<string, string>>
  /** The header field Content-Type as it came; empty when there is none. */
  readonly content_type: string
  /** The query as it came, of a route with `raw: true`; else empty. */
  readonly query_text: string
  /** A HEAD request: of the answer only the head is sent. */
  readonly head_only: boolean
  /** The client's address as the trusted proxies tell it; only for routes with `address: true`, else empty. */
  readonly address: string
  /** The access token that the request came with; only for routes with `token: true`, else empty. */
  readonly token: string
  /** Aborted when the client goes away; only for routes with `gone: true`, else null. */
  readonly gone: AbortSignal | null
  /** The Host as it came, which is one of this engine. */
  readonly host: string
  /** The token came in the session cookie. */
  readonly by_cookie: boolean
  /** A trusted proxy says that the client spoke https; only for routes with `address: true`. */
  readonly is_https: boolean
  /** The path as it came, without the query. */
  readonly path: string
}

interface Declaration<P extends Record<string, Parameter>, Q extends TObject, B extends TSchema, S extends RouteScope> {
  readonly method: Method
  /** `/flows/{name}`; a segment may hold two names, `{flow}.{node}`. */
  readonly path: string
  readonly scope: S
  /** One line for OpenAPI. */
  readonly summary: string
  /** The group in OpenAPI. */
  readonly tag: string
  readonly params?: P
  /** Integers must be bounded on both sides; a default makes a member optional. Unknown members are refused. */
  readonly query?: Q
  /** The query is for the page that answers, not for the handler: any is taken. */
  readonly any_query?: boolean
  readonly body?: B
  /** Members of the body that the handler checks itself, in slices: they may be large. */
  readonly unchecked?: readonly string[]
  /** Bytes; `limits.BODY_BYTES` when absent. */
  readonly body_limit?: number
  /**
   * Takes `application/x-www-form-urlencoded` or `application/json`, and refuses a body that says neither: for routes that need no
   * credential, to which a page elsewhere could send text without being asked.
   */
  readonly form?: boolean
  /**
   * The body is no JSON: the handler reads it as it comes, up to `body_limit`. A handler that answers before it has read all of
   * it gets no more.
   */
  readonly upload?: boolean
  /**
   * The handler gets the request as it came: the bytes of the body as `body`, the text of the query, and every header field. For routes whose
   * callers are unknown, so their bodies share one bound, and each must be complete within `limits.HOOK_RECEIVE_MS`.
   */
  readonly raw?: boolean
  /**
   * Names, in lower case, of further header fields that the handler needs. One that a request carries twice is refused; where the
   * handler needs every one, those that come twice are joined by commas.
   */
  readonly headers?: readonly string[] | 'every'
  /** False: a GET that does more than answer, so a look at the head of its answer is refused. */
  readonly head?: false
  /** Does the handler need the client's address? */
  readonly address?: boolean
  /** Does the handler need the token itself? */
  readonly token?: boolean
  /** Does the handler need to be told when the client goes away before the answer is complete? */
  readonly gone?: boolean
  /** The address of the document that says how to get a token for this route (RFC 9728), below the host of the request: a 401 names it. */
  readonly resource_metadata?: (host: string) => string
  /** The audit event that is sent when the request was carried out; see `server/routes/audited.ts`. */
  readonly audit?: AuditRule<RouteRequest<{ readonly [Name in keyof P]: string }, Static<Q>, Static<B>, CallerOf<S>>>
  /** Left out of OpenAPI: files that belong to a page. */
  readonly hidden?: boolean
  readonly answers: Readonly<Record<number, AnswerShape>>
  /** Error codes that this route adds to those that every route can answer. */
  readonly refuses?: readonly ErrorCode[]
  handle(
    request: RouteRequest<{ readonly [Name in keyof P]: string }, Static<Q>, Static<B>, CallerOf<S>>,
  ): Answer | Promise<Answer>
}

/** The object of the action: kind and name, such as `flow:boiler`. */
export interface AuditRule<Request = never> {
  readonly action: AuditAction
  readonly object: string | ((request: Request, answer: Answer) => string)
}

/** The callers that a route of this scope can have. */
type CallerOf<S extends RouteScope> = S extends 'open' ? null : S extends 'self' ? UserPrincipal : Caller

/**
 * The check of the object that a request names. `any`: callers with the scope may touch every object, panels none. A rule: panels may call the
 * route and touch what their reach covers. Required when the path names an object; a route whose body names one gives a rule, too.
 */
type Touches<P, Q extends TObject, B extends TSchema> = [keyof P] extends [never]
  ? { readonly object?: PanelRule<P, Q, B> }
  : { readonly object: 'any' | PanelRule<P, Q, B> }
type PanelRule<P, Q extends TObject, B extends TSchema> = ObjectRule<{
  readonly params: { readonly [Name in keyof P]: string }
  readonly query: Static<Q>
  readonly body: Static<B>
}>

/** A declared route without its types, as the front, OpenAPI and the security test use it. */
export interface Route {
  readonly method: Method
  readonly path: string
  readonly scope: RouteScope
  /** Null: no panel may call it. */
  readonly object: ObjectRule | null
  readonly summary: string
  readonly tag: string
  readonly params: Readonly<Record<string, Parameter>>
  readonly query: TObject | null
  readonly any_query: boolean
  readonly body: TSchema | null
  readonly unchecked: readonly string[]
  readonly body_limit: number | null
  readonly form: boolean
  readonly upload: boolean
  readonly raw: boolean
  readonly headers: readonly string[] | 'every'
  readonly head: boolean
  readonly address: boolean
  readonly token: boolean
  readonly gone: boolean
  readonly resource_metadata: ((host: string) => string) | null
  readonly audit: AuditRule | null
  readonly hidden: boolean
  readonly answers: Readonly<Record<number, AnswerShape>>
  readonly refuses: readonly ErrorCode[]
  readonly handle: (request: RouteRequest<never, never, never, never>) => Answer | Promise<Answer>
}

export function route<
  P extends Record<string, Parameter> = Record<never, Parameter>,
  Q extends TObject = TObject,
  B extends TSchema = TSchema,
  const S extends RouteScope = RouteScope,
>(declaration: Declaration<P, Q, B, S> & Touches<P, Q, B>): Route {
  return {
    method: declaration.method,
    path: declaration.path,
    scope: declaration.scope,
    object: typeof declaration.object === 'function' ? declaration.object : null,
    summary: declaration.summary,
    tag: declaration.tag,
    params: declaration.params ?? {},
    query: declaration.query ?? null,
    any_query: declaration.any_query ?? false,
    body: declaration.body ?? null,
    unchecked: declaration.unchecked ?? [],
    body_limit: declaration.body_limit ?? null,
    form: declaration.form ?? false,
    upload: declaration.upload ?? false,
    raw: declaration.raw ?? false,
    headers: declaration.headers ?? [],
    head: declaration.head ?? true,
    address: declaration.address ?? false,
    token: declaration.token ?? false,
    gone: declaration.gone ?? false,
    resource_metadata: declaration.resource_metadata ?? null,
    audit: declaration.audit ?? null,
    hidden: declaration.hidden ?? false,
    answers: declaration.answers,
    refuses: declaration.refuses ?? [],
    handle: declaration.handle,
  }
}

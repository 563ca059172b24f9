import { ServiceError } from '../../protocol/errors.ts'
import type { Role, Scope } from '../../protocol/words/scopes.ts'
import type { Right } from '../../protocol/words/token-rights.ts'

interface Anybody {
  /** As records of what was done name the caller. */
  readonly actor: string
  readonly scopes: readonly (Scope | Right)[]
}

/** A person with an account. */
export interface UserPrincipal extends Anybody {
  readonly kind: 'user'
  readonly name: string
  readonly role: Role
  readonly superuser: boolean
}

/** An agent or a program that a superuser made a client for, or that a user let in. Its scopes are never more than its owner's. */
export interface ClientPrincipal extends Anybody {
  readonly kind: 'client'
  readonly id: string
  readonly owner: string
}

/** The user in whose name a caller acts; null for those that belong to nobody. */
export function ownerOf(caller: Caller): string | null {
  if (caller.kind === 'user') return caller.name
  return caller.kind === 'client' ? caller.owner : null
}

/** A program with a lasting token, which has rights of its own and no scope of users. */
export interface TokenPrincipal extends Anybody {
  readonly kind: 'token'
  readonly name: string
}

/** A screen. It has no scope: what it may touch is worked out from its widgets. */
export interface PanelPrincipal extends Anybody {
  readonly kind: 'panel'
  readonly id: string
  readonly reach: PanelReach
}

/** What a panel may touch at this moment. Each costs a few map look-ups: it is asked on every request and frame. */
export interface PanelReach {
  /** Does a control of its dashboards, or a querying chart, publish this message, and no lock forbids it? */
  mayPublish(message: string): boolean
  /** Does a tile draw it? */
  mayRead(message: string): boolean
  /** Does a tile show these bytes, or did one within the last minute? */
  mayFetch(digest: string): boolean
  /** Is it one of its own dashboards? */
  mayShow(dashboard: string): boolean
}

/** Whoever makes a request with a token that verifies. */
export type Caller = UserPrincipal | ClientPrincipal | TokenPrincipal | PanelPrincipal

/** A worker, on its one websocket; no route knows it. */
export interface WorkerPrincipal {
  readonly kind: 'worker'
  readonly id: string
}

/**
 * What a route asks of its caller. `open`: nothing, nobody has to sign in. `self`: an account, whatever its role, since the route is about
 * that account. `mcp`: a user or a client of any scopes, since each tool asks for its own. `metrics`: the right of that name, or `read`. Else
 * the scope.
 */
export type RouteScope = 'open' | 'self' | 'mcp' | Right | Scope

/** For panels: does their reach cover what this request touches? */
export type ObjectRule<Request = never> = (reach: PanelReach, request: Request) => boolean

/**
 * May this caller call a route of this scope at all? A panel has no scope; it may where the route says which objects it touches, and
 * what they are is looked at when the request has been read.
 */
export function mayCall(scope: RouteScope, hasObjectRule: boolean, caller: Caller | null): boolean {
  if (scope === 'open') return true
  if (caller === null) return false
  if (caller.kind === 'panel') return hasObjectRule
  if (scope === 'self') return caller.kind === 'user'
  if (scope === 'mcp') return caller.kind === 'user' || caller.kind === 'client'
  return mayDo(caller, scope)
}

export function mayDo(caller: Caller, scope: Scope | Right): boolean {
  return caller.scopes.includes(scope) || (scope === 'metrics' && caller.scopes.includes('read'))
}

const FOR: { readonly [Some in RouteScope]?: string } = { self: 'is for users', mcp: 'is for users and clients' }

/** What a panel is told that may not, whichever of it is the reason: it learns nothing of what else there is. */
export const PANELS_MAY =
  'A panel may read only what its tiles show, and publish only what its controls point at, while their dashboard is not locked.'

/** Why not, in a sentence that names both. */
export function whyNot(scope: RouteScope, caller: Caller | null): string {
  const wanted = FOR[scope] ?? `needs the scope "${scope}"`
  if (caller === null) return `This route ${wanted}.`
  if (caller.kind === 'panel') return PANELS_MAY
  const has = caller.scopes.length === 0 ? 'no scope' : caller.scopes.map(each => `"${each}"`).join(', ')
  return `This route ${wanted}; ${caller.kind} "${nameOf(caller)}" has ${has}.`
}

/** A refusal as the caller may read it: a panel is not told what else there is, such as a name that was meant. */
export function toldTo(caller: Caller | WorkerPrincipal | null, refusal: unknown): unknown {
  const isBare = caller?.kind === 'panel' && refusal instanceof ServiceError && refusal.status === 404
  return isBare ? new ServiceError(refusal.code) : refusal
}

const nameOf = (caller: Caller): string =>
  caller.kind === 'user' || caller.kind === 'token' ? caller.name : caller.actor

/** Who may open a websocket of a path: callers with the scope and panels, or workers. */
export type SocketWho = 'read' | 'worker'

export function mayOpen(who: SocketWho, principal: Caller | WorkerPrincipal): boolean {
  if (principal.kind === 'worker') return who === 'worker'
  if (who === 'worker') return principal.kind === 'user' && principal.superuser
  return principal.kind === 'panel' || mayDo(principal, who)
}

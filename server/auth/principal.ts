import type { Right } from '../../protocol/words/token-rights.ts'

/** Who makes a request: a user that signed in. Panels and agents add their own kinds here. */
export interface Principal {
  readonly kind: 'user'
  readonly name: string
  readonly superuser: boolean
}

/** A program with a lasting token. It may do what its rights say, and what nobody needs a token for. */
export interface TokenPrincipal {
  readonly kind: 'token'
  readonly name: string
  readonly rights: readonly Right[]
}

/** Whoever makes a request with a token that verifies. */
export type Caller = Principal | TokenPrincipal

/** A worker, on its one websocket; no route knows it. */
export interface WorkerPrincipal {
  readonly kind: 'worker'
  readonly id: string
}

/** Who may call a route. `nobody` in particular: it needs no token. A right: every user, and a lasting token that has it. */
export type Who = 'nobody' | 'user' | 'superuser' | Right

export function mayCall(who: Who, caller: Caller | null): boolean {
  if (who === 'nobody') return true
  if (caller === null) return false
  if (caller.kind === 'token') return caller.rights.some(right => right === who)
  return who !== 'superuser' || caller.superuser
}

/** Why not, in a sentence that names both. */
export function whyNot(who: Who, caller: Caller | null): string {
  if (caller?.kind !== 'token') return `This route is for a ${who}.`
  return `The token "${caller.name}" has the rights ${caller.rights.join(', ')} alone; this route is for a ${who}.`
}

/** Who may open a websocket of a path. */
export type SocketWho = 'user' | 'superuser' | 'worker'

export const mayOpen = (
  who: SocketWho,
  principal: Caller | WorkerPrincipal,
): principal is Principal | WorkerPrincipal =>
  principal.kind === 'worker' ? who === 'worker' : mayCall(who === 'worker' ? 'superuser' : who, principal)

/** Who makes a request: a user that signed in. Panels and agents add their own kinds here. */
export interface Principal {
  readonly kind: 'user'
  readonly name: string
  readonly superuser: boolean
}

/** A worker, on its one websocket; no route knows it. */
export interface WorkerPrincipal {
  readonly kind: 'worker'
  readonly id: string
}

/** Who may call a route. `nobody` in particular: it needs no token. */
export type Who = 'nobody' | 'user' | 'superuser'

export const mayCall = (who: Who, principal: Principal | null): boolean =>
  who === 'nobody' || (principal !== null && (who === 'user' || principal.superuser))

/** Who may open a websocket of a path. */
export type SocketWho = 'user' | 'superuser' | 'worker'

export const mayOpen = (who: SocketWho, principal: Principal | WorkerPrincipal): boolean =>
  principal.kind === 'worker' ? who === 'worker' : mayCall(who === 'worker' ? 'superuser' : who, principal)

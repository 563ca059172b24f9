/** Who makes a request: a user that signed in. Panels, workers and agents add their own kinds here. */
export interface Principal {
  readonly kind: 'user'
  readonly name: string
  readonly superuser: boolean
}

/** Who may call a route. `nobody` in particular: it needs no token. */
export type Who = 'nobody' | 'user' | 'superuser'

export const mayCall = (who: Who, principal: Principal | null): boolean =>
  who === 'nobody' || (principal !== null && (who === 'user' || principal.superuser))

/**
 * What a caller may do. `read`: flows, values, runs, events. `publish`: values into flows, artifacts. `run`: runs, and flows on and off.
 * `edit`: documents without bodies, dashboards, flavors. `code`: bodies and modules, which run with the account of the engine.
 * `admin`: accounts, secrets, clients, audit.
 */
export const SCOPES = ['read', 'publish', 'run', 'edit', 'code', 'admin'] as const
export type Scope = (typeof SCOPES)[number]

/** What users are; a role is a set of scopes. */
export const ROLES = ['viewer', 'operator', 'editor', 'superuser'] as const
export type Role = (typeof ROLES)[number]

export const SCOPES_OF: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: ['read'],
  operator: ['read', 'publish', 'run'],
  editor: ['read', 'publish', 'run', 'edit', 'code'],
  superuser: SCOPES,
}

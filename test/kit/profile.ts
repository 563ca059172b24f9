import type { Role } from '../../protocol/words/scopes.ts'
import type { Profile } from '../../server/auth/accounts.ts'

/** What a user has who was added with a name, a password and a role alone. */
export const profile = (role: Role): Profile => ({ role, display_name: null, mail: null, disabled: false })

import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { ROLES } from '../../words/scopes.ts'
import { Timestamp } from '../timestamp.ts'

/** A user's name: letters, digits and `_ . @ + -`, so that an e-mail address is one. `me` is taken by the route. */
export const USER_NAME_PATTERN = '^(?!me$)[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}$'
export const UserName = Type.String({ pattern: USER_NAME_PATTERN })

export const Password = Type.String({
  minLength: limits.PASSWORD_CHARACTERS_MIN,
  maxLength: limits.PASSWORD_CHARACTERS,
  description: 'Stored only as an argon2id hash.',
})

export const User = Type.Object({
  name: Type.String(),
  role: Type.Enum([...ROLES]),
  superuser: Type.Boolean({ description: 'Is the role `superuser`?' }),
  display_name: Type.Union([Type.String(), Type.Null()]),
  mail: Type.Union([Type.String(), Type.Null()]),
  disabled: Type.Boolean({ description: 'Cannot sign in, and has no token that stands.' }),
  created_at: Timestamp,
})
export type User = Static<typeof User>

export const CreateUser = Type.Object(
  {
    name: UserName,
    password: Password,
    role: Type.Optional(Type.Enum([...ROLES])),
    superuser: Type.Optional(Type.Boolean({ description: 'true: the role `superuser`. Without either, `editor`.' })),
  },
  { additionalProperties: false },
)
export type CreateUser = Static<typeof CreateUser>

/** What signing in takes; the fields after `password` are what OAuth 2 password forms send along, and mean nothing here. */
export const Credentials = Type.Object(
  {
    username: Type.String({ minLength: 1, maxLength: 256 }),
    password: Type.String({ minLength: 1, maxLength: limits.PASSWORD_CHARACTERS }),
    grant_type: Type.Optional(Type.Literal('password')),
    scope: Type.Optional(Type.String({ maxLength: 256 })),
    client_id: Type.Optional(Type.String({ maxLength: 256 })),
    client_secret: Type.Optional(Type.String({ maxLength: 256 })),
  },
  { additionalProperties: false },
)
export type Credentials = Static<typeof Credentials>

export const AccessToken = Type.Object({
  access_token: Type.String(),
  token_type: Type.Literal('bearer'),
  expires_in: Type.Integer({ description: 'seconds' }),
})
export type AccessToken = Static<typeof AccessToken>

export const ChangePassword = Type.Object(
  { old: Type.String({ minLength: 1, maxLength: limits.PASSWORD_CHARACTERS }), new: Password },
  { additionalProperties: false },
)

export const RecoverPassword = Type.Object(
  { username: Type.String({ minLength: 1, maxLength: 256 }) },
  { additionalProperties: false },
)
export const ResetPassword = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: limits.TOKEN_BYTES }), password: Password },
  { additionalProperties: false },
)

import Type, { type Static, type TSchema } from 'typebox'
import { limits } from '../../limits.ts'
import { MAIL_PATTERN } from '../../names.ts'
import { ROLES, SCOPES } from '../../words/scopes.ts'
import { Timestamp } from '../timestamp.ts'

/** A user's name: letters, digits and `_ . @ + -`, so that an e-mail address is one. `me` is taken by the route. */
export const USER_NAME_PATTERN = '^(?!me$)[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}$'
export const UserName = Type.String({ pattern: USER_NAME_PATTERN })

export const Password = Type.String({
  minLength: limits.PASSWORD_CHARACTERS_MIN,
  maxLength: limits.PASSWORD_CHARACTERS,
  description: 'Stored only as an argon2id hash.',
})

/** One line without characters that control a terminal, or turn the direction of what stands behind it. */
export const DisplayName = Type.String({
  pattern: '^[^\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069]{1,128}$',
  description: 'How screens show the user.',
})
/** One address, and nothing that ends or begins another one in the header of a mail. */
export const MailAddress = Type.String({
  maxLength: 254,
  pattern: MAIL_PATTERN,
  description: 'Where links for a new password go.',
})
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

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

/** The user of a request. */
export const OwnUser = Type.Object({
  ...User.properties,
  scopes: Type.Array(Type.Enum([...SCOPES]), { description: 'What the role allows.' }),
})
export type OwnUser = Static<typeof OwnUser>

export const CreateUser = Type.Object(
  {
    name: UserName,
    password: Password,
    role: Type.Optional(Type.Enum([...ROLES])),
    superuser: Type.Optional(Type.Boolean({ description: 'true: the role `superuser`. Without either, `editor`.' })),
    display_name: Type.Optional(orNull(DisplayName)),
    mail: Type.Optional(orNull(MailAddress)),
  },
  { additionalProperties: false },
)
export type CreateUser = Static<typeof CreateUser>

/** What is absent stays as it is. */
export const ChangeUser = Type.Object(
  {
    role: Type.Optional(Type.Enum([...ROLES])),
    superuser: Type.Optional(
      Type.Boolean({ description: 'true: the role `superuser`; false: the role `editor` in place of it.' }),
    ),
    display_name: Type.Optional(orNull(DisplayName)),
    mail: Type.Optional(orNull(MailAddress)),
    disabled: Type.Optional(Type.Boolean({ description: 'true: all tokens end, and the user cannot sign in.' })),
  },
  { additionalProperties: false },
)
export type ChangeUser = Static<typeof ChangeUser>

export const ChangeOwnUser = Type.Object(
  {
    display_name: Type.Optional(orNull(DisplayName)),
    mail: Type.Optional(orNull(MailAddress)),
    password: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.PASSWORD_CHARACTERS,
        description: 'Needed to change `mail`: who has that address can set a new password.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type ChangeOwnUser = Static<typeof ChangeOwnUser>

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

/** A browser's session: its token is in a cookie that no script can read. */
export const Session = Type.Object({
  user: OwnUser,
  expires_in: Type.Integer({ description: 'seconds' }),
})
export type Session = Static<typeof Session>

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

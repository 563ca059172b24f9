import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { RIGHTS } from '../../words/token-rights.ts'
import { Timestamp } from '../timestamp.ts'

const Rights = Type.Array(Type.Enum([...RIGHTS]), {
  minItems: 1,
  maxItems: RIGHTS.length,
  uniqueItems: true,
})

export const LASTING_TOKEN_NAME_PATTERN = '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$'
export const LastingTokenName = Type.String({ pattern: LASTING_TOKEN_NAME_PATTERN })

/** A token for a program: it has few rights and lasts long. */
export const LastingToken = Type.Object({
  name: Type.String(),
  id: Type.String({ description: 'The public part of the token.' }),
  rights: Rights,
  created_at: Timestamp,
  created_by: Type.String({ description: 'The superuser who made it.' }),
  expires_at: Timestamp,
})
export type LastingToken = Static<typeof LastingToken>

export const CreatedLastingToken = Type.Object({
  ...LastingToken.properties,
  token: Type.String({ description: 'The token. It is shown only in this answer, because only its hash is stored.' }),
})
export type CreatedLastingToken = Static<typeof CreatedLastingToken>

export const CreateLastingToken = Type.Object(
  {
    name: LastingTokenName,
    rights: Rights,
    expires_s: Type.Integer({
      minimum: 60,
      maximum: limits.LASTING_TOKEN_LIFETIME_S,
      description: 'Seconds from now on.',
    }),
  },
  { additionalProperties: false },
)
export type CreateLastingToken = Static<typeof CreateLastingToken>

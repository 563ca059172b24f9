import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { SCOPES } from '../../words/scopes.ts'
import { Timestamp } from '../timestamp.ts'

const Scopes = Type.Array(Type.Enum([...SCOPES]), { minItems: 1, maxItems: SCOPES.length, uniqueItems: true })

export const ClientId = Type.String({ pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' })

/** Any text without control characters: programs that register themselves choose their own. */
export const ClientName = Type.String({
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$',
  minLength: 1,
  maxLength: limits.CLIENT_NAME_CHARACTERS,
})

/** An agent or a program that a user let in. */
export const Client = Type.Object({
  client_id: Type.String({ description: 'Its tokens carry it.' }),
  name: Type.String(),
  scopes: Type.Array(Type.Enum([...SCOPES]), {
    description: 'What it was given. It has those of them that its owner has at the moment.',
  }),
  owner: Type.Union([Type.String(), Type.Null()], {
    description: 'The user it acts for: it ends when the user is removed or disabled. Null while it is pending.',
  }),
  status: Type.Enum(['pending', 'approved'], {
    description: 'A pending one has registered itself, and can do nothing until a user lets it in.',
  }),
  redirect_uris: Type.Array(Type.String(), { description: 'Of one that registered itself.' }),
  created_at: Timestamp,
  expires_at: Type.Union([Timestamp, Type.Null()], { description: 'Null: its token ends by itself after ten years.' }),
  last_used: Type.Union([Timestamp, Type.Null()], { description: 'To the minute.' }),
})
export type Client = Static<typeof Client>

export const CreatedClient = Type.Object({
  ...Client.properties,
  token: Type.String({ description: 'The token. It is shown only in this answer; it is stored nowhere.' }),
})
export type CreatedClient = Static<typeof CreatedClient>

export const CreateClient = Type.Object(
  {
    name: ClientName,
    scopes: Scopes,
    expires_at: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 40,
        format: 'date-time',
        description: 'RFC 3339 with an offset; at most ten years from now, which is also the end of one without.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type CreateClient = Static<typeof CreateClient>

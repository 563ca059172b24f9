import Type, { type Static } from 'typebox'
import { DTYPES } from './dtypes.ts'

export { agrees, DTYPES } from './dtypes.ts'

/** What a port or message carries. Messages never carry bytes; image, audio, video and artifact are references. */
export const Dtype = Type.Unsafe<Dtype>(
  Type.Union(
    DTYPES.map(dtype => Type.Literal(dtype)),
    { description: 'What the port or message carries.' },
  ),
)
export type Dtype = (typeof DTYPES)[number]

/** A reference to content-addressed bytes. `meta` is interpreted by nothing. */
export const ArtifactReference = Type.Object(
  {
    digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
    media_type: Type.String({ minLength: 1, maxLength: 127 }),
    size: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Size in bytes, as given when the artifact was stored.' }),
    ),
    meta: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: true },
)
export type ArtifactReference = Static<typeof ArtifactReference>

import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { Timestamp } from '../timestamp.ts'

/** A text that flows use by its name. Its value goes in, and never out. */

export const SecretName = Type.String({
  minLength: 1,
  maxLength: limits.SECRET_NAME_CHARACTERS,
  description: 'The name of a secret: any text.',
})

export const Secret = Type.Object({
  name: SecretName,
  updated_at: Timestamp,
  updated_by: Type.String({ description: 'Who gave it its present value.' }),
  used_by: Type.Array(Type.String(), {
    description: 'Nodes (`flow.node`) whose settings or body name it, or whose body has asked for it; the first 1,000.',
  }),
})
export type Secret = Static<typeof Secret>

export const PutSecret = Type.Object(
  { value: Type.String({ description: 'Text of at most 64 KiB; bytes as base64.' }) },
  { additionalProperties: false },
)
export type PutSecret = Static<typeof PutSecret>

export const Rekeyed = Type.Object({
  count: Type.Integer({ minimum: 0, description: 'Secrets that are sealed anew.' }),
})
export type Rekeyed = Static<typeof Rekeyed>

import Type, { type Static } from 'typebox'

/** What a port or message carries. Messages never carry bytes; image, audio, video and artifact are references. */
export const DTYPES = ['bool', 'int', 'float', 'str', 'json', 'image', 'audio', 'video', 'artifact'] as const
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
    size: Type.Optional(Type.Integer({ minimum: 0, description: 'Bytes, as whoever stored them counted.' })),
    meta: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: true },
)
export type ArtifactReference = Static<typeof ArtifactReference>

const REFERENCES: readonly Dtype[] = ['image', 'audio', 'video', 'artifact']

/** May a message of dtype `source` be read at a port of dtype `target`? Equal; int to float; references to artifact; anything to json. */
export function agrees(source: Dtype, target: Dtype): boolean {
  if (source === target || target === 'json') return true
  if (source === 'int') return target === 'float'
  return target === 'artifact' && REFERENCES.includes(source)
}

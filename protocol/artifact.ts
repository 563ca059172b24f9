import Type, { type Static } from 'typebox'

/** Artifacts: content-addressed bytes. Their reference, which messages carry, is in dtype.ts. */

const closed = { additionalProperties: false }
export const ArtifactDigest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description: '`sha256:<64 hex digits>`' })

/** An artifact as the store has it: bytes without a name or a media type. */
export const StoredArtifact = Type.Object(
  {
    digest: Type.String(),
    size: Type.Integer({ description: 'bytes' }),
    written_at: Type.String({ description: 'When it was stored last; storing the same bytes again counts.' }),
  },
  closed,
)
export type StoredArtifact = Static<typeof StoredArtifact>

export const DamagedArtifact = Type.Object(
  {
    digest: Type.String(),
    size: Type.Integer({ description: 'bytes' }),
    found: Type.Union([Type.String(), Type.Null()], { description: 'What its bytes digest to; null: unreadable.' }),
  },
  closed,
)
export type DamagedArtifact = Static<typeof DamagedArtifact>

/** One line of a verification. The last one is `done`; the damaged ones of each line are new ones. */
export const VerifyLine = Type.Object(
  {
    done: Type.Boolean(),
    verified: Type.Integer({ description: 'Artifacts read so far.' }),
    bytes: Type.Integer({ description: 'Bytes read so far.' }),
    damaged: Type.Array(DamagedArtifact),
  },
  closed,
)
export type VerifyLine = Static<typeof VerifyLine>

/** What a sweep did. */
export const ArtifactSweep = Type.Object(
  {
    stood_aside: Type.Boolean({ description: 'A run was in flight: what was not looked at yet stays.' }),
    seen: Type.Integer({ description: 'Artifacts in the store.' }),
    spared: Type.Integer({ description: 'Written in the last hour.' }),
    recorded: Type.Integer({ description: 'Older, and named by a run.' }),
    held: Type.Integer({ description: 'Older, and named by a live message.' }),
    removed: Type.Integer(),
    removed_bytes: Type.Integer(),
  },
  closed,
)
export type ArtifactSweep = Static<typeof ArtifactSweep>

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]{1,127}"
/** `type/subtype` and parameters (RFC 9110); a quoted value holds neither quotes nor backslashes, so it can stand in a header as it is. */
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[ !#-\\[\\]-~]*"))*$`)
const MEDIA_TYPE_CHARACTERS = 127

export const isMediaType = (text: string): boolean => text.length <= MEDIA_TYPE_CHARACTERS && MEDIA_TYPE.test(text)

const DIGEST = /^sha256:([0-9a-f]{64})$/
/** The hex digits of a digest; null when it is none. */
export const hexOf = (digest: unknown): string | null =>
  typeof digest === 'string' ? (DIGEST.exec(digest)?.[1] ?? null) : null
export const digestOf = (hex: string): string => `sha256:${hex}`

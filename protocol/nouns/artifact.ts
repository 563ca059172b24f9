import Type, { type Static } from 'typebox'

/** Artifacts: content-addressed bytes. Their reference, which messages carry, is in dtype.ts. */

const closed = { additionalProperties: false }
export const ArtifactDigest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description: '`sha256:<64 hex digits>`' })

/** An artifact as the store has it: bytes without a name or a media type. */
export const StoredArtifact = Type.Object(
  {
    digest: Type.String(),
    size: Type.Integer({ description: 'bytes' }),
    written_at: Type.String({
      format: 'date-time',
      description: 'When it was last stored. Storing the same bytes again updates the time.',
    }),
  },
  closed,
)
export type StoredArtifact = Static<typeof StoredArtifact>

export const DamagedArtifact = Type.Object(
  {
    digest: Type.String(),
    size: Type.Integer({ description: 'bytes' }),
    found: Type.Union([Type.String(), Type.Null()], {
      description: 'The digest of the bytes that were read; null when they cannot be read.',
    }),
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
    stood_aside: Type.Boolean({
      description: 'True when a run was in progress, so the remaining artifacts were not checked.',
    }),
    seen: Type.Integer({ description: 'Artifacts in the store.' }),
    spared: Type.Integer({ description: 'Stored in the last hour, or within `ARTIFACTS_KEEP_DAYS`.' }),
    recorded: Type.Integer({ description: 'Older, and used by a run.' }),
    held: Type.Integer({ description: 'Older, and used by a live message.' }),
    removed: Type.Integer(),
    removed_bytes: Type.Integer(),
    bytes: Type.Integer({ description: 'Bytes of all artifacts that are left.' }),
    over_bytes: Type.Integer({
      description:
        'How far they are over `ARTIFACTS_KEEP_MB`; 0: within it. Runs, live messages or the last hour keep what is over it.',
    }),
  },
  closed,
)
export type ArtifactSweep = Static<typeof ArtifactSweep>

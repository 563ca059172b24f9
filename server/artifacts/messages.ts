import type { DamagedArtifact } from '../../protocol/nouns/artifact.ts'
import type { ArtifactPlace } from '../../threads/calls/artifact-files.ts'

/** What the front says to the artifact thread, and hears from it. */
export interface ArtifactThreadStart {
  readonly place: ArtifactPlace
}

export type ArtifactRequest =
  /** Answers the number of the upload. `length`: bytes, null when nobody knows. */
  | { readonly type: 'begin'; readonly length: number | null }
  /** The bytes stay as they are until the answer. */
  | { readonly type: 'write'; readonly upload: number; readonly bytes: Uint8Array }
  /** Answers a `WrittenArtifact`. */
  | { readonly type: 'finish'; readonly upload: number }
  | { readonly type: 'drop'; readonly upload: number }
  /** Newest first. Answers an `ArtifactPage`. */
  | { readonly type: 'list'; readonly limit: number; readonly offset: number }
  /** Hex digits that begin so, at most so many of them. */
  | { readonly type: 'from'; readonly hex: string; readonly most: number }
  /** Those of one of the 256 folders that were written before. Answers an `OldArtifacts`. */
  | { readonly type: 'old'; readonly folder: string; readonly before_ms: number }
  /** Takes those aside that are as old still; answers their hex digits. */
  | { readonly type: 'claim'; readonly hexes: readonly string[]; readonly before_ms: number }
  /** Puts what was taken aside back under its name, or removes it; answers the bytes that were removed. */
  | { readonly type: 'settle'; readonly back: readonly string[]; readonly remove: readonly string[] }
  /** Reads what comes after a name for a while. Answers a `VerifyStep`. */
  | { readonly type: 'verify'; readonly after: string }

export interface FileEntry {
  readonly hex: string
  /** Bytes. */
  readonly size: number
  /** Milliseconds since 1970. */
  readonly written_ms: number
}

export interface ArtifactPage {
  readonly items: FileEntry[]
  readonly count: number
}

export interface OldArtifacts {
  readonly seen: number
  /** Of all that were seen. */
  readonly bytes: number
  readonly old: FileEntry[]
}

export interface VerifyStep {
  /** Where to go on; null at the end. */
  readonly after: string | null
  readonly verified: number
  readonly bytes: number
  readonly damaged: DamagedArtifact[]
}

import { limits } from '../../../protocol/limits.ts'

/** The bounds of the store. Tests use smaller ones. */
export interface StoreBounds {
  readonly history_bytes: number
  readonly cascades_bytes: number
  readonly events_bytes: number
  readonly wal_bytes: number
  readonly redo_bytes: number
  readonly group_commit_ms: number
  /** Points in a full chunk. */
  readonly chunk_points: number
  /** Bytes of the payloads of a chunk, on average over the chunks that are written together. */
  readonly chunk_bytes: number
  /** This many points of one message in one commit become a chunk at once, without the log. */
  readonly direct_points: number
  /** The same for the bytes of their payloads. */
  readonly direct_bytes: number
  /** The log is turned into chunks when it passes one of these. */
  readonly log_bytes: number
  readonly log_rows: number
  /** When a message has this many small chunks, they are joined. */
  readonly join_chunks: number
  readonly compact_every_changes: number
  /** With this many points read and not committed, a commit begins at once. */
  readonly pending_points: number
  readonly pending_bytes: number
  /** Bytes of the payloads of one answer; the newest point is always in it. */
  readonly answer_bytes: number
  /** Runs that may wait at once. */
  readonly runs_queued: number
  /** Runs in one export, and about the bytes of one page of it. */
  readonly export_runs: number
  readonly export_page_bytes: number
}

const MIB = 1024 * 1024

export const storeBounds: StoreBounds = {
  history_bytes: limits.HISTORY_BYTES,
  cascades_bytes: limits.CASCADES_BYTES,
  events_bytes: limits.EVENTS_BYTES,
  wal_bytes: limits.WAL_BYTES,
  redo_bytes: limits.REDO_BYTES,
  group_commit_ms: limits.GROUP_COMMIT_MS,
  chunk_points: limits.CHUNK_POINTS,
  chunk_bytes: limits.CHUNK_BYTES,
  direct_points: 128,
  direct_bytes: 4096,
  log_bytes: 8 * MIB,
  log_rows: 4096,
  join_chunks: 32,
  compact_every_changes: limits.COMPACT_EVERY_CHANGES,
  pending_points: 400_000,
  pending_bytes: 16 * MIB,
  answer_bytes: limits.HISTORY_ANSWER_BYTES,
  runs_queued: limits.RUNS_QUEUED,
  export_runs: limits.EXPORT_RUNS,
  export_page_bytes: limits.EXPORT_PAGE_BYTES,
}

import type { LogLevel, RunLogPage } from '../../../protocol/nouns/run-log.ts'

/** Lines that are stored together; see core/runs/log-lines.ts. */
export interface LogChunk {
  /** The number of its first line in the log of the run, from 1. */
  readonly first: number
  count: number
  readonly from_us: number
  size: number
  lines: string
}

/** The log of a run since the last write. */
export interface LogProgress {
  readonly chunks: readonly LogChunk[]
  /** Number of lines of the run that were dropped so far. */
  readonly dropped: number
}

export interface LogRequest {
  readonly run: string
  /** Only lines after this one. */
  readonly after: number
  readonly limit: number
  /** About the bytes of text in a page. */
  readonly bytes: number
  /** Null for lines of all nodes. */
  readonly node: string | null
  /** The lowest level; null for all. */
  readonly level: LogLevel | null
}

/** The front's side of reading logs. */
export interface LogStore {
  /** Null when there is no such run. It sees what was committed before it. */
  log(request: LogRequest): Promise<RunLogPage | null>
}

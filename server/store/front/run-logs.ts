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

/** Of a run, since the last record of it. */
export interface LogProgress {
  readonly chunks: readonly LogChunk[]
  /** Lines of the run that were not kept so far. */
  readonly dropped: number
}

export interface LogRequest {
  readonly run: string
  /** Lines behind this one. */
  readonly after: number
  readonly limit: number
  /** About as much text in a page. */
  readonly bytes: number
  /** Null: of every node. */
  readonly node: string | null
  /** At least so bad; null: all. */
  readonly level: LogLevel | null
}

/** The front's side of reading logs. */
export interface LogStore {
  /** Null when there is no such run. It sees what was committed before it. */
  log(request: LogRequest): Promise<RunLogPage | null>
}

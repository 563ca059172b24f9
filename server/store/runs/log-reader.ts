import { linesOfChunk } from '../../../core/runs/log-lines.ts'
import type { RunLogLine, RunLogPage } from '../../../protocol/nouns/run-log.ts'
import { formatTime } from '../../../protocol/time.ts'
import { LOG_LEVELS } from '../../../protocol/words/log-level.ts'
import { isLive, type RunStatus } from '../../../protocol/words/run-status.ts'
import type { Connection, Statement } from '../file/database.ts'
import { readable } from '../file/unreadable.ts'
import type { LogRequest } from '../front/run-logs.ts'

interface HeadRow {
  seq: number
  status: RunStatus
  dropped: number | null
}
interface ChunkRow {
  first: number
  count: number
  bytes: Buffer
}

/** Bytes of a line in an answer besides its text. */
const LINE_BYTES = 128
/** Most chunks in one read, for filters that leave out most lines. */
const CHUNKS_READ = 64

/** Pages of a run's log. Each is one snapshot. */
export class LogReader {
  readonly #db: Connection
  readonly #head: Statement<HeadRow>
  readonly #chunks: Statement<ChunkRow>

  constructor(db: Connection) {
    this.#db = db
    this.#head = db.prepare(
      'SELECT r.seq, r.status, l.dropped FROM runs r LEFT JOIN run_logs l ON l.run = r.seq WHERE r.id = ?',
    )
    // The chunk with the line begins at the line or before it.
    this.#chunks = db.prepare(
      `SELECT first, count, bytes FROM run_log_chunks WHERE run = @run AND first >= coalesce(
         (SELECT max(first) FROM run_log_chunks WHERE run = @run AND first <= @from), 0)
       ORDER BY first LIMIT ${CHUNKS_READ}`,
    )
  }

  page(request: LogRequest): RunLogPage | null {
    return this.#db.transaction(() => this.#page(request))()
  }

  #page({ run, after, limit, bytes: most, node, level }: LogRequest): RunLogPage | null {
    const head = this.#head.get(run)
    if (head === undefined) return null
    const least = level === null ? 0 : LOG_LEVELS.indexOf(level)
    const items: RunLogLine[] = []
    let looked_at = after
    let bytes = 0
    let isFull = false
    let chunks = 0
    for (const { first, count, bytes: stored } of this.#chunks.iterate({ run: head.seq, from: after + 1 })) {
      chunks++
      const lines = readable('run_log_chunks', { run: head.seq, first }, () => linesOf(stored, count))
      for (let at = Math.max(0, after + 1 - first); at < lines.length; at++) {
        const line = lines[at]!
        const isWanted = (node === null || node === line.node) && LOG_LEVELS.indexOf(line.level) >= least
        if (isWanted) {
          const size = LINE_BYTES + Buffer.byteLength(JSON.stringify(line.text))
          isFull = items.length >= limit || (items.length > 0 && bytes + size > most)
          if (isFull) break
          bytes += size
          const { ts, attempt, level, text } = line
          items.push({ seq: first + at, ts: formatTime(ts), node: line.node, attempt, level, text })
        }
        looked_at = first + at
      }
      if (isFull) break
    }
    const isOver = !isLive(head.status) && !isFull && chunks < CHUNKS_READ
    return { run, items, next_after: isOver ? null : looked_at, dropped: head.dropped ?? 0 }
  }
}

/** Throws a RangeError when the bytes do not match the row. */
export function linesOf(bytes: Buffer, count: number) {
  const lines = [...linesOfChunk(bytes.toString('utf8'))]
  if (lines.length !== count) throw new RangeError(`it holds ${lines.length} lines, and its row says ${count}`)
  return lines
}

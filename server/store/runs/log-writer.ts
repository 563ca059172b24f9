import type { Connection, Statement } from '../file/database.ts'
import type { LogProgress } from '../front/run-logs.ts'

/** Lines of a run, under the row number of the run. Inside the caller's transaction. */
export class LogWriter {
  readonly #head: Statement
  readonly #chunk: Statement

  constructor(db: Connection) {
    this.#head = db.prepare(
      `INSERT INTO run_logs (run, lines, dropped, bytes) VALUES (?, ?, ?, ?)
       ON CONFLICT (run) DO UPDATE SET lines = lines + excluded.lines, dropped = excluded.dropped, bytes = bytes + excluded.bytes`,
    )
    this.#chunk = db.prepare('INSERT INTO run_log_chunks (run, first, count, from_us, bytes) VALUES (?, ?, ?, ?, ?)')
  }

  write(run: number, { chunks, dropped }: LogProgress): void {
    let count = 0
    let size = 0
    for (const chunk of chunks) {
      const bytes = Buffer.from(chunk.lines)
      this.#chunk.run(run, chunk.first, chunk.count, chunk.from_us, bytes)
      count += chunk.count
      size += bytes.length
    }
    this.#head.run(run, count, dropped, size)
  }
}

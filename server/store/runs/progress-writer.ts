import type { Connection, Statement } from '../file/database.ts'
import type { WrittenProgress } from '../front/runs.ts'
import { DocumentWriter } from './documents.ts'
import { LogWriter } from './log-writer.ts'
import { type CurveChunk, lastValueIn, pointsIn } from './metric-chunk.ts'
import { WRITTEN_NODE } from './rows.ts'

/** Node rows, metrics, artifacts and lines of a run, under the row number of the run. Inside the caller's transaction. */
export class ProgressWriter {
  readonly #documents: DocumentWriter
  readonly #node: Statement
  readonly #name: Statement<number>
  readonly #newName: Statement
  readonly #curve: Statement<number>
  readonly #chunk: Statement
  readonly #artifact: Statement
  readonly #log: LogWriter

  constructor(db: Connection) {
    this.#documents = new DocumentWriter(db)
    this.#node = db.prepare(
      `INSERT OR REPLACE INTO run_nodes (run, ${WRITTEN_NODE}) VALUES (?, ${WRITTEN_NODE.replaceAll(/\w+/g, '?')})`,
    )
    this.#name = db.prepare('SELECT id FROM metric_names WHERE name = ?').pluck() as Statement<number>
    this.#newName = db.prepare('INSERT INTO metric_names (name) VALUES (?)')
    this.#curve = db
      .prepare(
        `INSERT INTO run_metrics (run, name, chunks, points, last_value) VALUES (?, ?, 1, ?, ?)
         ON CONFLICT (run, name) DO UPDATE SET chunks = chunks + 1, points = points + excluded.points, last_value = excluded.last_value
         RETURNING chunks`,
      )
      .pluck() as Statement<number>
    this.#chunk = db.prepare('INSERT INTO metric_chunks (run, name, chunk, count, bytes) VALUES (?, ?, ?, ?, ?)')
    this.#artifact = db.prepare('INSERT OR IGNORE INTO run_artifacts (run, digest) VALUES (?, ?)')
    this.#log = new LogWriter(db)
  }

  write(run: number, { nodes, documents = [], chunks, artifacts, log }: WrittenProgress): void {
    for (const row of nodes) this.#node.run(run, ...row)
    this.#documents.writeAll(run, documents)
    for (const chunk of chunks) this.#writeChunk(run, chunk)
    for (const digest of artifacts) this.#artifact.run(run, digest)
    if (log) this.#log.write(run, log)
  }

  #writeChunk(run: number, { name, bytes }: CurveChunk): void {
    const points = Buffer.from(bytes, 'base64')
    const count = pointsIn(points)
    const id = this.#name.get(name) ?? Number(this.#newName.run(name).lastInsertRowid)
    const chunks = this.#curve.get(run, id, count, lastValueIn(points))!
    this.#chunk.run(run, id, chunks - 1, count, points)
  }
}

import type { Connection, Statement } from '../database.ts'
import { type CurveChunk, lastValueIn, pointsIn } from './metric-chunk.ts'
import type { StoredRunNode, WrittenProgress } from './records.ts'
import { whole, written } from './run-rows.ts'

/** Node rows, metrics and artifacts of a run, under the row number of the run. Inside the caller's transaction. */
export class ProgressWriter {
  readonly #node: Statement
  readonly #name: Statement<number>
  readonly #newName: Statement
  readonly #curve: Statement<number>
  readonly #chunk: Statement
  readonly #artifact: Statement

  constructor(db: Connection) {
    this.#node = db.prepare(
      `INSERT OR REPLACE INTO run_nodes (run, node, position, status, attempt, executions, emissions, asked, granted, machine, queued_at,
       started_at, finished_at, body_s, expected_s, cache_key, cached_from, error, parts, outputs)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
  }

  write(run: number, { nodes, chunks, artifacts }: WrittenProgress): void {
    for (const node of nodes) this.#writeNode(run, node)
    for (const chunk of chunks) this.#writeChunk(run, chunk)
    for (const digest of artifacts) this.#artifact.run(run, digest)
  }

  #writeNode(run: number, node: StoredRunNode): void {
    this.#node.run(
      run,
      node.node,
      node.position,
      node.status,
      node.attempt,
      node.executions,
      node.emissions,
      written(node.asked),
      written(node.granted),
      node.machine,
      whole(node.queued_at),
      whole(node.started_at),
      whole(node.finished_at),
      node.body_s,
      node.expected_s,
      node.cache_key,
      node.cached_from,
      written(node.error),
      written(node.parts),
      written(node.outputs),
    )
  }

  #writeChunk(run: number, { name, bytes }: CurveChunk): void {
    const points = Buffer.from(bytes, 'base64')
    const count = pointsIn(points)
    const id = this.#name.get(name) ?? Number(this.#newName.run(name).lastInsertRowid)
    const chunks = this.#curve.get(run, id, count, lastValueIn(points))!
    this.#chunk.run(run, id, chunks - 1, count, points)
  }
}

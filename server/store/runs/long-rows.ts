import { finish } from '../../../core/steps.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Connection, Statement } from '../file/database.ts'
import { readable } from '../file/unreadable.ts'
import type { RunDocument, StoredOutput } from '../front/runs.ts'
import { DocumentWriter, ELSEWHERE, isLong, type RunPart } from './documents.ts'
import { columnOf, writtenOutputs } from './rows.ts'

/** The setting with the last row of `runs` that was examined. */
export const LONG_ROWS_SEEN = 'long_rows_seen'

/** Rows that one step examines, and the bytes after which it ends. */
const ROWS = 256
const STEP_BYTES = 4 * 1024 * 1024
const PARTS: readonly RunPart[] = ['inputs', 'resolved', 'result']

/**
 * Moves long values, which older releases wrote into rows of runs, out of the rows, step by step while the engine runs. Readers understand
 * both forms. Each start continues where the last one ended.
 */
export class LongRows {
  readonly #documents: DocumentWriter
  readonly #next: Statement<{ seq: number; bytes: number }>
  readonly #row: Statement<Record<RunPart, string | null>>
  readonly #nodes: Statement<{ node: string; outputs: string }>
  readonly #putNode: Statement
  readonly #put: Statement
  readonly #see: Statement
  #seen: number
  #isDone = false

  constructor(db: Connection) {
    this.#documents = new DocumentWriter(db)
    // SQLite has lengths in the head of a record, so long values are not read for them.
    this.#next = db.prepare(
      `SELECT seq, octet_length(inputs) + octet_length(resolved) + coalesce(octet_length(result), 0) AS bytes FROM runs
       WHERE seq > ? ORDER BY seq LIMIT ${ROWS}`,
    )
    this.#row = db.prepare('SELECT inputs, resolved, result FROM runs WHERE seq = ?')
    this.#nodes = db.prepare('SELECT node, outputs FROM run_nodes WHERE run = ? AND octet_length(outputs) > ?')
    this.#putNode = db.prepare('UPDATE run_nodes SET outputs = ? WHERE run = ? AND node = ?')
    this.#put = db.prepare(
      `UPDATE runs SET inputs = ?, inputs_summary = coalesce(?, inputs_summary), resolved = ?, result = ?,
       result_summary = coalesce(?, result_summary) WHERE seq = ?`,
    )
    this.#see = db.prepare(
      `INSERT INTO settings (name, value) VALUES ('${LONG_ROWS_SEEN}', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    )
    const seen = db.prepare('SELECT value FROM settings WHERE name = ?').pluck().get(LONG_ROWS_SEEN)
    this.#seen = Number(seen ?? 0)
    this.#isDone = this.#next.get(this.#seen) === undefined
  }

  isDue(): boolean {
    return !this.#isDone
  }

  /** Call it inside a transaction. True while rows are left. */
  step(): boolean {
    const rows = this.#next.all(this.#seen)
    let seen = this.#seen
    let moved = 0
    for (const { seq, bytes } of rows) {
      if (moved >= STEP_BYTES) break
      moved += this.#moveNodes(seq)
      if (bytes > limits.RUN_DOCUMENT_CHARACTERS) moved += this.#moveRun(seq)
      seen = seq
    }
    this.#see.run(String(seen))
    this.#seen = seen
    this.#isDone = rows.length === 0 || (rows.length < ROWS && seen === rows.at(-1)!.seq)
    return !this.#isDone
  }

  #moveRun(seq: number): number {
    const row = this.#row.get(seq)!
    let bytes = 0
    const column = (part: RunPart): { text: string | null; summary: string | null } => {
      const text = row[part]
      if (text === null || text === ELSEWHERE || !isLong(text)) return { text, summary: null }
      const moved = columnOf(readable('runs', { seq }, () => JSON.parse(text) as Record<string, unknown>))
      this.#documents.write(seq, part, moved.long!)
      bytes += text.length
      return moved
    }
    const [inputs, resolved, result] = PARTS.map(column) as [
      ReturnType<typeof column>,
      ReturnType<typeof column>,
      ReturnType<typeof column>,
    ]
    if (bytes > 0) this.#put.run(inputs.text, inputs.summary, resolved.text, result.text, result.summary, seq)
    return bytes
  }

  #moveNodes(seq: number): number {
    let bytes = 0
    for (const { node, outputs } of this.#nodes.all(seq, limits.RUN_DOCUMENT_CHARACTERS)) {
      const documents: RunDocument[] = []
      const stored = readable('run_nodes', { run: seq, node }, () => JSON.parse(outputs) as StoredOutput[])
      // Outputs without a value were moved before.
      if (stored.some(output => output.value === undefined)) continue
      this.#putNode.run(finish(writtenOutputs(node, stored, documents)), seq, node)
      this.#documents.writeAll(seq, documents)
      bytes += outputs.length
    }
    return bytes
  }
}

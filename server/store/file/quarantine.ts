import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { QUARANTINE_FILE } from '../../../protocol/installation.ts'
import type { Connection } from './database.ts'
import { rowText, type UnreadablePlace } from './unreadable.ts'

/** Damage that was found, for the log, the events and the issues. */
export interface Damage {
  readonly file: string
  readonly table: string | null
  readonly row: string | null
  readonly reason: string
  /** The flow that it belongs to, where one is known. */
  readonly flow: string | null
  /** Writes of batch runs that were answered and are gone. */
  readonly run_writes: number
}

export const damageText = ({ file, table, row, reason, run_writes }: Damage): string =>
  table === null
    ? `${file}: ${reason}${run_writes === 0 ? '' : `; ${run_writes} answered writes of runs are gone`}. Look into the events of type data_damaged.`
    : `The row ${row} of the table "${table}" in ${file} could not be read (${reason}); it is in quarantine.jsonl now, and docs/repair.md describes the next steps.`

/** A long value of a run is in `run_documents`; its column is empty. */
const isThere = (part: string): string =>
  `json_valid(${part}) OR (${part} = '' AND EXISTS (SELECT 1 FROM run_documents WHERE run = seq AND part = '${part}'))`

/** How a damaged row of these tables is repaired. Rows of all other tables are deleted. */
const PUT_RIGHT: Readonly<Record<string, string>> = {
  // Its commits stay, and can be restored.
  flows: 'UPDATE flows SET deleted = 1',
  latest: 'UPDATE latest SET bins = NULL',
  // All items are dropped, since a wrong one might run twice. `count` stays, so that the start reports how many are lost.
  waiting: "UPDATE waiting SET bytes = x'01'",
  runs: `UPDATE runs SET inputs = CASE WHEN ${isThere('inputs')} THEN inputs ELSE '{}' END,
    resolved = CASE WHEN ${isThere('resolved')} THEN resolved ELSE '{}' END,
    terminal = CASE WHEN json_valid(terminal) THEN terminal ELSE '[]' END,
    result = CASE WHEN ${isThere('result')} THEN result END,
    error = CASE WHEN json_valid(error) THEN error END,
    origin = CASE WHEN json_valid(origin) THEN origin END`,
  run_nodes: `UPDATE run_nodes SET asked = CASE WHEN json_valid(asked) THEN asked END,
    granted = CASE WHEN json_valid(granted) THEN granted END,
    error = CASE WHEN json_valid(error) THEN error END,
    parts = CASE WHEN json_valid(parts) THEN parts END,
    outputs = CASE WHEN NOT json_valid(outputs) THEN NULL WHEN EXISTS (SELECT 1 FROM json_each(outputs) o
      WHERE json_extract(o.value, '$.document') AND NOT EXISTS (SELECT 1 FROM run_documents d WHERE d.run = run_nodes.run
        AND d.part = 'outputs:' || node || ':' || json_extract(o.value, '$.port'))) THEN NULL ELSE outputs END`,
}

/** SQL that finds the flow of a row, by table. */
const FLOW_OF: Readonly<Record<string, string>> = {
  chunks: "SELECT (SELECT substr(name, 1, instr(name, '.') - 1) FROM messages WHERE id = message) FROM chunks WHERE",
  latest: "SELECT (SELECT substr(name, 1, instr(name, '.') - 1) FROM messages WHERE id = message) FROM latest WHERE",
  node_errors: "SELECT substr(node, 1, instr(node, '.') - 1) FROM node_errors WHERE",
  events: 'SELECT flow FROM events WHERE',
  runs: 'SELECT (SELECT name FROM flows WHERE id = flow) FROM runs WHERE',
  waiting: 'SELECT (SELECT name FROM flows WHERE id = flow) FROM waiting WHERE',
}

/**
 * One row that cannot be decoded must not make all others unreadable: it is written to a file, and is deleted or repaired so that the table can be
 * read. The file is synced before the row is changed, so a crash between the two leaves it in both.
 */
export class Quarantine {
  readonly #db: Connection
  readonly #data_dir: string
  readonly #clock: () => number

  constructor(db: Connection, data_dir: string, clock: () => number) {
    this.#db = db
    this.#data_dir = data_dir
    this.#clock = clock
  }

  /** Inside the caller's transaction. Names come from the engine's own readers, values are bound. */
  take({ table, row, reason }: UnreadablePlace): Damage {
    const where = Object.keys(row)
      .map(column => `"${column}" = ?`)
      .join(' AND ')
    const key = Object.values(row)
    const content = this.#db.prepare(`SELECT * FROM ${table} WHERE ${where}`).get(...key) ?? null
    const lead = FLOW_OF[table]
    const flow =
      lead === undefined
        ? null
        : (this.#db
            .prepare(`${lead} ${where}`)
            .pluck()
            .get(...key) as string | null)
    this.#keep({ at: this.#clock(), table, row, reason, content })
    this.#db.prepare(`${PUT_RIGHT[table] ?? `DELETE FROM ${table}`} WHERE ${where}`).run(...key)
    return { file: 'engine.db', table, row: rowText(row), reason, flow: flow ?? null, run_writes: 0 }
  }

  #keep(line: Record<string, unknown>): void {
    const bytes = (_: string, value: unknown): unknown =>
      isBuffer(value) ? { base64: Buffer.from(value.data).toString('base64') } : value
    const file = openSync(join(this.#data_dir, QUARANTINE_FILE), 'a', 0o600)
    try {
      writeSync(file, `${JSON.stringify(line, bytes)}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  }
}

/** A Buffer in the form in which `JSON.stringify` passes it to a replacer. */
const isBuffer = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'Buffer'

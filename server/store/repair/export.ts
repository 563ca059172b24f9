import { closeSync, mkdirSync, openSync, readdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { diskFault, errorName } from '../../../protocol/disk-faults.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { isName } from '../../../protocol/names.ts'
import { formatTime } from '../../../protocol/time.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { Blobs } from '../catalog/blobs.ts'
import type { Connection } from '../file/database.ts'
import { rowText } from '../file/unreadable.ts'
import { eachGroup } from '../history/log.ts'
import { kindOf, lengthOf, PointBatch } from '../history/point-batch.ts'
import { PointDecoder } from '../history/point-chunk.ts'
import { hasPayload } from '../history/series.ts'
import { DocumentReader, ELSEWHERE } from '../runs/documents.ts'
import { linesOf } from '../runs/log-reader.ts'
import { decodeChunk } from '../runs/metric-chunk.ts'
import { outputsOf } from '../runs/rows.ts'
import { eachRow, keyOf, type Tables, tablesOf } from './rows.ts'
import { type Finding, openStopped } from './verify.ts'

export interface Exported {
  readonly out_dir: string
  /** Number of lines by file. */
  readonly files: Readonly<Record<string, number>>
  readonly unreadable: number
}

// biome-ignore lint/suspicious/noExplicitAny: a row as SQLite gives it
type Row = any

/** Exports the readable part of the database of a stopped engine, as files that need no engine. `out_dir` must be new or empty. */
export function exportReadable(data_dir: string, out_dir: string): Exported {
  const db = openStopped(data_dir)
  try {
    return new Export(db, out_dir).run()
  } catch (error) {
    const fault = diskFault(errorName(error))
    if (fault === null) throw error
    throw new ServiceError(fault.code, `${fault.reason}: ${out_dir} is not complete.`)
  } finally {
    db.close()
  }
}

/** One pass over each table; memory holds names, never rows. */
class Export {
  readonly #db: Connection
  readonly #out_dir: string
  readonly #tables: Tables
  readonly #codec = createCodec()
  readonly #lines: Record<string, number> = {}
  readonly #blobs: Blobs
  readonly #documents: DocumentReader
  #unreadable = 0

  constructor(db: Connection, out_dir: string) {
    this.#db = db
    this.#out_dir = out_dir
    this.#tables = tablesOf(db)
    this.#blobs = new Blobs(db)
    this.#documents = new DocumentReader(db)
  }

  run(): Exported {
    makeEmpty(this.#out_dir)
    this.#append('unreadable.jsonl', [])
    const flows = this.#flows()
    this.#users()
    this.#history()
    this.#runs(flows)
    this.#rest()
    return { out_dir: this.#out_dir, files: this.#lines, unreadable: this.#unreadable }
  }

  /** Writes documents that `svc flows put` takes, and every commit with its document. */
  #flows(): Map<number, string> {
    const names = new Map<number, string>()
    mkdirSync(join(this.#out_dir, 'flows'), { mode: 0o700 })
    this.#each('flows', row => {
      names.set(row.id, row.name)
      const { document: digest, deleted, ...told } = row
      const document = deleted === 1 ? null : JSON.parse(this.#blobs.text(digest))
      const line = {
        ...told,
        deleted: deleted === 1,
        enabled: told.enabled === 1,
        updated_at: formatTime(told.updated_at),
      }
      this.#append('flows.jsonl', [{ ...line, document }])
      // A valid name has no character with a meaning in paths.
      if (document !== null && isName(row.name))
        this.#write(join('flows', `${row.name}.json`), JSON.stringify(document, null, 2))
    })
    this.#each('commits', ({ document: digest, flow, at, ...told }) => {
      const document = digest === null ? null : JSON.parse(this.#blobs.text(digest))
      this.#append('commits.jsonl', [{ ...told, flow: names.get(flow) ?? told.name, at: formatTime(at), document }])
    })
    return names
  }

  /** Names of users; never their passwords or tokens. */
  #users(): void {
    this.#each('users', ({ name, superuser, created_at }) =>
      this.#append('users.jsonl', [{ name, superuser: superuser === 1, created_at: formatTime(created_at) }]),
    )
  }

  /** One file per message, named by its number; `messages.jsonl` has the names. */
  #history(): void {
    mkdirSync(join(this.#out_dir, 'history'), { mode: 0o700 })
    const dtypes = new Map<number, string>()
    this.#each('messages', ({ id, name, dtype }) => {
      dtypes.set(id, dtype)
      this.#append('messages.jsonl', [{ name, dtype, file: `history/${id}.jsonl` }])
    })
    const decoder = new PointDecoder()
    const batch = new PointBatch()
    const points = (message: number, bytes: Buffer, at: number, end: number): void => {
      batch.clear()
      decoder.decode(bytes, at, end, batch)
      const lines = Array.from({ length: batch.count }, (_, i) => ({
        ts: formatTime(batch.ts[i]!),
        version: batch.version[i]!,
        value: this.#value(batch, i, dtypes.get(message) ?? 'json'),
      }))
      this.#append(join('history', `${message}.jsonl`), lines)
    }
    this.#each('chunks', ({ message, bytes }) => points(message, bytes, 0, bytes.length))
    this.#each('log', ({ bytes }) => eachGroup(bytes, (message, at, end) => points(message, bytes, at, end)))
  }

  #value(batch: PointBatch, i: number, dtype: string): unknown {
    const number = batch.number[i]!
    if (dtype === 'bool') return number
    const kind = kindOf(batch.meta[i]!)
    if (!hasPayload(kind)) return this.#codec.decode(kind, number, batch.bytes, 0, 0)
    return this.#codec.decode(kind, 0, batch.bytes, number, lengthOf(batch.meta[i]!))
  }

  #runs(flows: ReadonlyMap<number, string>): void {
    const ids = new Map<number, string>()
    const names = new Map<number, string>()
    const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text))
    const time = (at: number | null): string | null => (at === null ? null : formatTime(at))
    this.#each('runs', row => {
      ids.set(row.seq, row.id)
      const { seq: _seq, flow, grouped, epoch: _epoch, ...told } = row
      for (const part of ['inputs', 'resolved', 'result'] as const)
        if (told[part] === ELSEWHERE) told[part] = this.#documents.text(row.seq, part)
      for (const column of ['origin', 'inputs', 'resolved', 'result', 'terminal', 'error'])
        told[column] = parsed(told[column])
      for (const column of ['inputs_summary', 'result_summary']) delete told[column]
      for (const column of ['created_at', 'started_at', 'finished_at', 'cancel_requested_at'])
        told[column] = time(told[column])
      this.#append('runs.jsonl', [
        { ...told, flow: flows.get(flow) ?? null, group: grouped, no_cache: told.no_cache === 1 },
      ])
    })
    this.#each('run_nodes', ({ run, ...told }) => {
      for (const column of ['asked', 'granted', 'error', 'parts']) told[column] = parsed(told[column])
      told.outputs = outputsOf(run, told.node, told.outputs, this.#documents)
      for (const column of ['queued_at', 'started_at', 'finished_at']) told[column] = time(told[column])
      this.#append('run-nodes.jsonl', [{ run: ids.get(run) ?? null, ...told }])
    })
    this.#each('run_log_chunks', ({ run, first, count, bytes }) => {
      const lines = linesOf(bytes, count).map((line, at) => ({ ...line, seq: first + at, ts: formatTime(line.ts) }))
      this.#append('run-logs.jsonl', [{ run: ids.get(run) ?? null, lines }])
    })
    this.#each('metric_names', ({ id, name }) => names.set(id, name))
    this.#each('metric_chunks', ({ run, name, count, bytes }) => {
      const { steps, values } = decodeChunk(bytes, count)
      const curve = { run: ids.get(run) ?? null, name: names.get(name) ?? null }
      this.#append('run-metrics.jsonl', [{ ...curve, steps: [...steps], values: [...values] }])
    })
  }

  #rest(): void {
    this.#each('events', ({ ts, type, flow, run, body }) =>
      this.#append('events.jsonl', [{ ...JSON.parse(body), ts: formatTime(ts), type, flow, run }]),
    )
    this.#each('node_errors', ({ id: _id, ts, inputs, ...told }) =>
      this.#append('node-errors.jsonl', [
        { ...told, ts: formatTime(ts), inputs: inputs === null ? null : this.#codec.decodePlain(inputs) },
      ]),
    )
    this.#each('flavors', row => this.#append('flavors.jsonl', [row]))
  }

  /** Passes every readable row to `take`; the others are added to the list of unreadable rows. */
  #each(table: string, take: (row: Row) => void): void {
    const columns = this.#tables[table]
    if (columns === undefined) return this.#cannot({ table, row: null, reason: 'there is no such table' })
    const rest = eachRow(this.#db, table, columns, row => {
      try {
        take(row)
      } catch (error) {
        if (diskFault(errorName(error)) !== null) throw error
        this.#cannot({ table, row: rowText(keyOf(columns, row)), reason: (error as Error).message })
      }
    })
    if (rest === null) return
    const after = rest.row === null ? 'from its first row on' : `behind ${rowText(rest.row)}`
    this.#cannot({ table, row: null, reason: `rows ${after} cannot be read: ${rest.reason}` })
  }

  #cannot(finding: Omit<Finding, 'file'>): void {
    this.#unreadable++
    this.#append('unreadable.jsonl', [finding])
  }

  #append(name: string, lines: readonly unknown[]): void {
    this.#lines[name] = (this.#lines[name] ?? 0) + lines.length
    this.#write(name, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  }

  #write(name: string, text: string): void {
    const file = openSync(join(this.#out_dir, name), 'a', 0o600)
    try {
      const bytes = Buffer.from(text)
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
    } finally {
      closeSync(file)
    }
  }
}

function makeEmpty(out_dir: string): void {
  mkdirSync(out_dir, { recursive: true, mode: 0o700 })
  if (readdirSync(out_dir).length === 0) return
  throw new ServiceError('bad_setting', `${out_dir} is not empty; name a new or an empty directory.`)
}

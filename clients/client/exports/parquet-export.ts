import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ExportRunColumn } from '../../../protocol/words/run-columns.ts'
import { linesOf } from '../text-lines.ts'
import { type ColumnKind, type ParquetColumn, ParquetFile, type ParquetLibrary } from './parquet-file.ts'

/** Exports as Parquet, made of their jsonl: that tells numbers from texts, and nothing from the empty text. */

export type ToParquet = (jsonl: AsyncIterable<Uint8Array>, library: ParquetLibrary) => AsyncGenerator<Uint8Array>

const text = (name: string): ParquetColumn => ({ name, kind: 'text', required: true })
const number = (name: string): ParquetColumn => ({ name, kind: 'number', required: true })

/** A row per run, metric and step. One row group at a time is in memory. */
export const metricsParquet: ToParquet = async function* (jsonl, library) {
  const file = new ParquetFile(library, [text('run'), text('name'), number('step'), number('value')])
  let run = ''
  let name = ''
  for await (const line of linesOf(jsonl)) {
    const row = JSON.parse(line) as { run: string; name: string; step: number; value: number }
    // Millions of rows share a few texts: one of each is kept.
    if (row.run !== run) run = row.run
    if (row.name !== name) name = row.name
    file.add([run, name, row.step, row.value])
    if (file.isFull) yield file.take()
  }
  yield* file.end()
}

/** Columns of every runs export; those of inputs follow, then numbers. */
const RUN_COLUMNS: readonly ParquetColumn[] = [
  text('run'),
  text('flow'),
  text('status'),
  { name: 'duration', kind: 'number' },
  text('commit'),
  { name: 'code_digest', kind: 'text' },
]

/** Columns that are there when they were asked for. */
const OPTIONAL_COLUMNS: Readonly<Record<ExportRunColumn, ColumnKind>> = {
  seed: 'number',
  group: 'text',
  groups: 'json',
  tags: 'json',
  note: 'text',
  created_at: 'time',
  error: 'text',
}

/**
 * A row per run. What an input's column carries is known when all runs have been seen, so they wait in a temporary file. Where
 * it is not one kind in all runs, or lists and objects, the column is JSON.
 */
export const runsParquet: ToParquet = async function* (jsonl, library) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-export-'))
  try {
    const path = join(folder, 'runs.jsonl')
    const columns = new RunColumns()
    await pipeline(columns.watching(linesOf(jsonl)), createWriteStream(path, { mode: 0o600 }))
    const list = columns.list()
    const file = new ParquetFile(library, list)
    for await (const line of linesOf(createReadStream(path))) {
      const row = JSON.parse(line) as Record<string, unknown>
      file.add(list.map(({ name }) => row[name]))
      if (file.isFull) yield file.take()
    }
    yield* file.end()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

class RunColumns {
  readonly #kinds = new Map<string, ColumnKind | null>()

  /** The same lines, each with its end. */
  async *watching(lines: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const line of lines) {
      for (const [name, value] of Object.entries(JSON.parse(line) as object)) this.#see(name, value)
      yield `${line}\n`
    }
  }

  /** In the order of the export. What no run had a value of counts as text among the inputs, else as a number. */
  list(): ParquetColumn[] {
    const known = new Set(RUN_COLUMNS.map(({ name }) => name))
    const others = [...this.#kinds].filter(([name]) => !known.has(name))
    const unseen = (name: string): ColumnKind => (name.startsWith('inputs.') ? 'text' : 'number')
    return [...RUN_COLUMNS, ...others.map(([name, kind]) => ({ name, kind: kind ?? unseen(name) }))]
  }

  #see(name: string, value: unknown): void {
    const kind = kindOf(value)
    const before = this.#kinds.get(name)
    if (Object.hasOwn(OPTIONAL_COLUMNS, name)) this.#kinds.set(name, OPTIONAL_COLUMNS[name as ExportRunColumn])
    else if (before === undefined || before === null) this.#kinds.set(name, kind)
    else if (kind !== null && kind !== before) this.#kinds.set(name, 'json')
  }
}

function kindOf(value: unknown): ColumnKind | null {
  if (value === null) return null
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number') return 'number'
  return typeof value === 'boolean' ? 'boolean' : 'json'
}

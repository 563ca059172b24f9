import type { ByteWriter, ParquetWriter, SchemaElement } from 'hyparquet-writer'
import { parseTime } from '../../../protocol/time.ts'
import { VERSION } from '../../../protocol/version.ts'
import { ClientError } from '../client-error.ts'

/** What writes the format: an optional dependency, loaded with the first export that asks for it. */
export type ParquetLibrary = typeof import('hyparquet-writer')
const PACKAGE = 'hyparquet-writer@0.17.0'

/** `time`: microseconds since 1970, in UTC. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'json' | 'time'

export interface ParquetColumn {
  readonly name: string
  readonly kind: ColumnKind
  /** Every row has a value; otherwise null stands for none. */
  readonly required?: boolean
}

/** Rows and cells of a row group at most: what is held in memory before it is written. */
const GROUP_ROWS = 65_536
const GROUP_CELLS = 8 * 1024 * 1024

/** Throws a ClientError when the package is not installed. */
export async function loadParquet(load = (): Promise<ParquetLibrary> => import('hyparquet-writer')) {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const text = `Parquet is written by a package that is not installed. Install it with "npm install ${PACKAGE}", or take csv or jsonl.`
    throw new ClientError('lacking', text, { cause: error })
  }
}

/** A Parquet file row group by row group: `add` rows, `take` the bytes when a group is full, `end` with the rest and the footer. */
export class ParquetFile {
  readonly #columns: readonly ParquetColumn[]
  readonly #bytes: ByteWriter
  readonly #writer: ParquetWriter
  readonly #most_rows: number
  #cells: unknown[][]

  constructor({ ByteWriter, ParquetWriter }: ParquetLibrary, columns: readonly ParquetColumn[]) {
    this.#columns = columns
    this.#bytes = new ByteWriter()
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: [{ name: 'root', num_children: columns.length }, ...columns.map(elementOf)],
      createdBy: `flow-engine ${VERSION}`,
    })
    this.#most_rows = Math.max(1, Math.min(GROUP_ROWS, Math.floor(GROUP_CELLS / columns.length)))
    this.#cells = columns.map(() => [])
  }

  /** A cell for each column; times as RFC 3339. */
  add(row: readonly unknown[]): void {
    for (let at = 0; at < row.length; at++) {
      const cell = row[at]
      const isTime = this.#columns[at]!.kind === 'time' && typeof cell === 'string'
      this.#cells[at]!.push(isTime ? BigInt(parseTime(cell)!) : cell)
    }
  }

  get isFull(): boolean {
    return this.#rows >= this.#most_rows
  }

  /** Writes what was added as a row group. */
  take(): Uint8Array {
    const columnData = this.#columns.map(({ name }, at) => ({ name, data: this.#cells[at]! }))
    if (this.#rows > 0) this.#writer.write({ columnData, rowGroupSize: this.#rows })
    this.#cells = this.#columns.map(() => [])
    return this.#written()
  }

  end(): Uint8Array[] {
    const last = this.take()
    this.#writer.finish()
    return [last, this.#written()]
  }

  get #rows(): number {
    return this.#cells[0]!.length
  }

  /** A copy: the memory that is written to is used again. Offsets go on counting. */
  #written(): Uint8Array {
    const bytes = this.#bytes.getBytes().slice()
    this.#bytes.index = 0
    return bytes
  }
}

function elementOf({ name, kind, required = false }: ParquetColumn): SchemaElement {
  const element = { name, repetition_type: required ? ('REQUIRED' as const) : ('OPTIONAL' as const) }
  switch (kind) {
    case 'text':
      return { ...element, type: 'BYTE_ARRAY', converted_type: 'UTF8' }
    case 'number':
      return { ...element, type: 'DOUBLE' }
    case 'boolean':
      return { ...element, type: 'BOOLEAN' }
    case 'json':
      return { ...element, type: 'BYTE_ARRAY', converted_type: 'JSON' }
    case 'time':
      return { ...element, type: 'INT64', converted_type: 'TIMESTAMP_MICROS' }
  }
}

import type { Summary } from '../../../protocol/nouns/summary.ts'
import { VERSION } from '../../../protocol/version.ts'
import type { Calls, Query } from '../calls.ts'
import { ClientError } from '../client-error.ts'
import type { ByteStream } from '../transport.ts'

export interface ExportForm {
  /** csv when not given. parquet is made here, and needs an optional package. */
  format?: 'csv' | 'jsonl' | 'parquet'
  /** csv: cells stay as they are, also those that a spreadsheet takes for a formula. */
  raw?: boolean
}

export interface Export {
  /** Bytes as they come: csv or jsonl in UTF-8, or Parquet. It fails with an error when the connection breaks off, so that half is never taken for all. */
  stream: ByteStream
  /** What was left out, in words; null when nothing was. */
  truncated: string | null
}

/** Which table Parquet is made of. */
export type ParquetTable = 'metricsParquet' | 'runsParquet'

/** What makes Parquet of a stream of jsonl. Throws a ClientError where that cannot be. */
export type OpenParquet = (table: ParquetTable) => Promise<(jsonl: ByteStream) => ByteStream>

export interface ExportRequest {
  readonly path: string
  readonly query: Query
  readonly form: ExportForm
  readonly parquet: ParquetTable
}

/** Throws a ClientError. */
export async function openExport(calls: Calls, { path, query, form, parquet }: ExportRequest): Promise<Export> {
  if (form.format !== 'parquet') return open(calls, path, { ...query, format: form.format, raw: form.raw })
  // Before anything is asked of the engine: the package may be missing.
  const { openParquet } = await import('#client/parquet')
  const toParquet = await openParquet(parquet)
  const { stream, truncated } = await open(calls, path, { ...query, format: 'jsonl' })
  return { stream: toParquet(stream), truncated }
}

async function open(calls: Calls, path: string, query: Query): Promise<Export> {
  try {
    const { headers, body } = await calls.stream({ method: 'GET', path, query, headers: { accept: '*/*' } })
    return { stream: body, truncated: headers['x-truncated'] ?? null }
  } catch (error) {
    if (error instanceof ClientError && error.status === 404 && lacksRoute(error)) throw await older(calls, error)
    throw error
  }
}

/** Not a name that the engine looked for in vain, but a path that it does not know. */
const lacksRoute = ({ code }: ClientError): boolean => code === null || code === 'not_found' || code === 'run_not_found'

async function older(calls: Calls, error: ClientError): Promise<ClientError> {
  const { version } = await calls.get<Partial<Summary>>('/observability/summary')
  const text =
    version === undefined
      ? `The engine at ${calls.url} is older than this client (${VERSION}): it tells no version and has no such export.`
      : `The engine at ${calls.url} has no such export: it is version ${version}, and this client is ${VERSION}.`
  return new ClientError('refused', `${text} Install the same release on both.`, {
    status: 404,
    ...(error.problem === null ? {} : { problem: error.problem }),
    cause: error,
  })
}

import { ClientError } from '../../client-error.ts'
import type { OpenParquet } from '../../exports/exports.ts'

/** Its columns are known when all rows have been seen; until then they wait in a file, which a browser has not. */
export const openParquet: OpenParquet = async () => {
  throw new ClientError(
    'lacking',
    'Parquet files cannot be written in a browser. Use csv or jsonl, or the command "svc export".',
  )
}

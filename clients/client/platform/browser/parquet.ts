import { ClientError } from '../../client-error.ts'
import type { OpenParquet } from '../../exports/exports.ts'

/** Its columns are known when all rows have been seen; until then they wait in a file, which a browser has not. */
export const openParquet: OpenParquet = async () => {
  throw new ClientError('lacking', 'Parquet is not made in a browser. Take csv or jsonl, or use "svc export".')
}

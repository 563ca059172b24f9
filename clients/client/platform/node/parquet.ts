import { Readable } from 'node:stream'
import type { OpenParquet } from '../../exports/exports.ts'
import { loadParquet } from '../../exports/parquet-file.ts'

export const openParquet: OpenParquet = async table => {
  const library = await loadParquet()
  const { [table]: toParquet } = await import('../../exports/parquet-export.ts')
  return jsonl => Readable.from(toParquet(jsonl, library), { objectMode: false })
}

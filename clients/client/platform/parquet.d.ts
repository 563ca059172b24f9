import type { OpenParquet } from '../exports/exports.ts'

/** `#client/parquet` for the compiler, whatever the platform. */
export declare const openParquet: OpenParquet

import type { Connection } from '../file/database.ts'

/** The digests, of those given, that a run records. */
export function recordedArtifacts(db: Connection, digests: readonly string[]): string[] {
  return db
    .prepare('SELECT DISTINCT digest FROM run_artifacts WHERE digest IN (SELECT value FROM json_each(?))')
    .pluck()
    .all(JSON.stringify(digests)) as string[]
}

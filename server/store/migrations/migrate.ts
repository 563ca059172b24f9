import { ServiceError } from '../../../protocol/errors.ts'
import type { Connection } from '../file/database.ts'
import { first } from './0001-first.ts'
import { runs } from './0002-runs.ts'
import { signIns } from './0003-sign-ins.ts'
import { waiting } from './0004-waiting.ts'
import { metricsDropped } from './0005-metrics-dropped.ts'
import { runGroups } from './0006-run-groups.ts'
import { codeCommit } from './0007-code-commit.ts'
import { runLogs } from './0008-run-logs.ts'
import { runDocuments } from './0009-run-documents.ts'
import { runDeletes } from './0010-run-deletes.ts'
import { runRetention } from './0011-run-retention.ts'
import { runTags } from './0012-run-tags.ts'
import { runShortIds } from './0013-run-short-ids.ts'
import { unbegunRuns } from './0014-unbegun-runs.ts'
import { scheduled } from './0015-scheduled.ts'
import { fires } from './0016-fires.ts'
import { access } from './0017-access.ts'
import { search } from './0018-search.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
}

/** Numbered from 1 without gaps, forward only. A published one is never changed: a change is the next number. */
export const migrations: readonly Migration[] = [
  first,
  runs,
  signIns,
  waiting,
  metricsDropped,
  runGroups,
  codeCommit,
  runLogs,
  runDocuments,
  runDeletes,
  runRetention,
  runTags,
  runShortIds,
  unbegunRuns,
  scheduled,
  fires,
  access,
  search,
]

export const schemaVersion = (db: Connection): number => db.pragma('user_version', { simple: true }) as number

/**
 * Brings the file up to the newest schema, each migration in a transaction of its own together with the number that it
 * reached, so that a kill between two leaves a file that the next start takes further. Returns the number it came from.
 */
export function migrate(db: Connection, list: readonly Migration[] = migrations): number {
  list.forEach((migration, position) => {
    if (migration.number !== position + 1) throw new RangeError(`migration ${migration.name} is out of order`)
  })
  const from = schemaVersion(db)
  if (from > list.length) {
    throw new ServiceError(
      'newer_schema',
      `The data directory has schema ${from}; this release knows schemas up to ${list.length}.`,
    )
  }
  for (const migration of list.slice(from)) {
    const step = db.transaction(() => {
      db.exec(migration.sql)
      db.pragma(`user_version = ${migration.number}`)
    })
    step.immediate()
  }
  return from
}

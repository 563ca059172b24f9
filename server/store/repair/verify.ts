import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ServiceError } from '../../../protocol/errors.ts'
import { QUARANTINE_FILE } from '../../../protocol/installation.ts'
import { type Connection, databaseFile, openReader } from '../file/database.ts'
import { refusalOf } from '../file/faults.ts'
import { rowText } from '../file/unreadable.ts'
import { assertUsable } from '../file/usable.ts'
import { migrations, schemaVersion } from '../migrations/migrate.ts'
import { withoutValues } from '../waiting/check.ts'
import { lastEpoch } from '../writer/load.ts'
import { readRedo } from '../writer/redo-log.ts'
import { rowChecks } from './checks.ts'
import { eachRow, keyOf, tablesOf } from './rows.ts'

export interface Finding {
  readonly file: string
  /** Null when the finding is about the file. */
  readonly table: string | null
  readonly row: string | null
  readonly reason: string
}

export interface Verification {
  readonly data_dir: string
  readonly schema: number
  /** Rows that were read, by table. */
  readonly rows: Readonly<Record<string, number>>
  /** Rows that earlier starts have put into the quarantine. */
  readonly quarantined: number
  /** At most `FINDINGS`; `found` counts all. */
  readonly findings: readonly Finding[]
  readonly found: number
}

const FINDINGS = 1000
const DATABASE = 'engine.db'

/** Opens the database of a stopped engine for reading. Throws `database_missing`, `bad_database`, `database_damaged`. */
export function openStopped(data_dir: string): Connection {
  if (!existsSync(databaseFile(data_dir)))
    throw new ServiceError('database_missing', `There is no ${databaseFile(data_dir)}.`)
  assertUsable(data_dir)
  try {
    const db = openReader(databaseFile(data_dir))
    // Without the list of tables nothing else can be read.
    tablesOf(db)
    return db
  } catch (error) {
    throw refusalOf(error, data_dir)
  }
}

/** Reads all tables and changes nothing. */
export function verify(data_dir: string): Verification {
  const db = openStopped(data_dir)
  const findings: Finding[] = []
  let found = 0
  const add = (finding: Finding): void => {
    if (found++ < FINDINGS) findings.push(finding)
  }
  try {
    for (const reason of pageFindings(db)) add({ file: DATABASE, table: null, row: null, reason })
    const schema = schemaVersion(db)
    if (schema !== migrations.length) {
      const reason = `its schema is ${schema}, and this release has ${migrations.length}; a start brings an older one up to it`
      if (schema > migrations.length) add({ file: DATABASE, table: null, row: null, reason })
    }
    const rows = verifyRows(db, add)
    verifyCounts(db, add)
    verifyWaiting(db, add)
    verifyRedo(db, data_dir, add)
    return { data_dir, schema, rows, quarantined: quarantined(data_dir), findings, found }
  } finally {
    db.close()
  }
}

/** Damage that SQLite finds in the structure of the file: pages, indexes. */
function pageFindings(db: Connection): string[] {
  try {
    const lines = db.pragma('integrity_check(100)') as { integrity_check: string }[]
    return lines.map(line => line.integrity_check).filter(line => line !== 'ok')
  } catch (error) {
    return [(error as Error).message]
  }
}

function verifyRows(db: Connection, add: (finding: Finding) => void): Record<string, number> {
  const checks = rowChecks(db)
  const rows: Record<string, number> = {}
  for (const [table, columns] of Object.entries(tablesOf(db))) {
    rows[table] = 0
    const unreadable = eachRow(db, table, columns, row => {
      rows[table]!++
      try {
        checks[table]?.(row)
      } catch (error) {
        add({ file: DATABASE, table, row: rowText(keyOf(columns, row)), reason: (error as Error).message })
      }
    })
    if (unreadable === null) continue
    const after = unreadable.row === null ? 'from its first row on' : `behind ${rowText(unreadable.row)}`
    add({ file: DATABASE, table, row: null, reason: `rows ${after} cannot be read: ${unreadable.reason}` })
  }
  return rows
}

/** Checks the counters against the rows that they count. */
function verifyCounts(db: Connection, add: (finding: Finding) => void): void {
  try {
    const wrong = db
      .prepare(
        `SELECT status, count, (SELECT count(*) FROM runs r WHERE r.status = c.status) AS runs FROM run_counts c
         WHERE flow = 0 AND count <> (SELECT count(*) FROM runs r WHERE r.status = c.status)`,
      )
      .all() as { status: string; count: number; runs: number }[]
    for (const { status, count, runs } of wrong) {
      const reason = `${count} runs are counted, and there are ${runs}`
      add({ file: DATABASE, table: 'run_counts', row: `flow = 0, status = ${status}`, reason })
    }
  } catch {
    // A table that cannot be read was found above.
  }
}

/** Checks that waiting items refer to existing values of the history. */
function verifyWaiting(db: Connection, add: (finding: Finding) => void): void {
  try {
    for (const { flow, count, message, version } of withoutValues(db)) {
      const reason = `the history does not hold the values of ${count} of its items; the first is ${message}@${version}`
      add({ file: DATABASE, table: 'waiting', row: `flow = ${flow}`, reason })
    }
  } catch {
    // A table that cannot be read was found above, and an older schema has none.
  }
}

function verifyRedo(db: Connection, data_dir: string, add: (finding: Finding) => void): void {
  const told = (reason: string): void => add({ file: 'redo.log', table: null, row: null, reason })
  try {
    const { epoch } = readRedo(data_dir)
    if (epoch > lastEpoch(db)) told('it is newer than engine.db: commits of engine.db-wal are missing')
  } catch (error) {
    told((error as Error).message)
  }
}

function quarantined(data_dir: string): number {
  const path = join(data_dir, QUARANTINE_FILE)
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
}

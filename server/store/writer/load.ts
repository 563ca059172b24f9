import { errorName } from '../../../protocol/disk-faults.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Codec } from '../../../protocol/values/codec.ts'
import { readFiresSeen } from '../catalog/fires.ts'
import { type Flavors, SEEDED } from '../catalog/flavors.ts'
import type { FlowStore } from '../catalog/flow-store.ts'
import { newestNodeErrors } from '../catalog/node-errors.ts'
import type { SignIns } from '../catalog/sign-ins.ts'
import type { Users } from '../catalog/users.ts'
import type { Connection, Statement } from '../file/database.ts'
import { isDamage, isSqlite } from '../file/faults.ts'
import type { Damage } from '../file/quarantine.ts'
import { readableTables } from '../file/unreadable.ts'
import type { Loaded, StoredValue } from '../front/replies.ts'
import type { RunWrite } from '../front/requests.ts'
import { hasPayload } from '../history/series.ts'
import { LONG_ROWS_SEEN } from '../runs/long-rows.ts'
import type { RunWriter } from '../runs/writer.ts'
import { readWaiting } from '../waiting/load.ts'
import { readHeld, readStates } from './live-state.ts'
import { notCommitted, type RedoContent } from './redo-log.ts'
import type { Registry } from './registry.ts'
import { readScheduled } from './scheduled.ts'
import { REDO_MARK } from './transaction.ts'

const EPOCH = 'engine_epoch'
/** Settings that only the store uses. */
const OWN: ReadonlySet<string> = new Set([EPOCH, SEEDED, REDO_MARK, LONG_ROWS_SEEN])

/** The epoch of the newest start; 0 before the first. */
export const lastEpoch = (db: Connection): number => Number(setting(db, EPOCH) ?? 0)

/** Counts this start. Inside the start's transaction. */
export function countStart(db: Connection, epoch: number): void {
  putSetting(db, EPOCH, String(epoch))
}

export interface RedoneWrites {
  /** Writes that the engine before had answered and not committed, oldest first. */
  readonly writes: readonly RunWrite[]
  /** The newest epoch in the redo log or the database. */
  readonly epoch: number
  readonly damage: Damage | null
}

/** `wasKilled`: SQLite's log was there, so the engine before did not end cleanly. */
export function readNotCommitted(db: Connection, redo: RedoContent, wasKilled: boolean): RedoneWrites {
  const last = lastEpoch(db)
  const mark = (setting(db, REDO_MARK) ?? '0:0').split(':')
  const held = Number(mark[0]) === last ? Number(mark[1]) : 0
  if (redo.epoch < last) {
    // A start that wrote records leaves a file, unless it ended cleanly. The file may have none of its records: the first record of a
    // new round overwrites the first of the round before, and a kill can leave it incomplete.
    const isGone = !redo.exists && wasKilled && held > 0 && mark.length === 2
    const reason = 'it is missing: run writes of the last 50 ms of the engine before may be gone'
    return { writes: [], epoch: last, damage: isGone ? redoDamage(reason, 0) : null }
  }
  const isBehind = redo.epoch > last
  const { records, missing } = notCommitted(redo.records, isBehind ? 0 : held)
  const reason = isBehind
    ? 'engine.db is older than redo.log: commits of engine.db-wal are missing'
    : `${missing} of its records before the newest are damaged or missing`
  return {
    writes: records.flatMap(({ requests }) => requests as RunWrite[]),
    epoch: redo.epoch,
    damage: isBehind || missing > 0 ? redoDamage(reason, missing) : null,
  }
}

/** Applies the writes again. Returns how many failed because what they refer to is gone. Inside the caller's transaction. */
export function writeAgain(db: Connection, writes: readonly RunWrite[], apply: (write: RunWrite) => void): number {
  let refused = 0
  for (const write of writes) {
    try {
      db.transaction(() => apply(write))()
    } catch (error) {
      const isItsOwn = !isSqlite(error) || errorName(error).startsWith('SQLITE_CONSTRAINT')
      if (!isItsOwn || isDamage(error)) throw error
      refused++
    }
  }
  return refused
}

export const redoDamage = (reason: string, run_writes: number): Damage => ({
  file: 'redo.log',
  table: null,
  row: null,
  reason,
  flow: null,
  run_writes,
})

const putSetting = (db: Connection, name: string, value: string): void =>
  void db.prepare('INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)').run(name, value)

const setting = (db: Connection, name: string): string | null =>
  (db.prepare('SELECT value FROM settings WHERE name = ?').pluck().get(name) as string | undefined) ?? null

/** The newest values of the messages of flows that exist. */
function valuesOf(db: Connection, registry: Registry, flows: ReadonlySet<string>): StoredValue[] {
  const large = db.prepare('SELECT bytes FROM latest WHERE message = ?').pluck() as Statement<Buffer>
  const values: StoredValue[] = []
  for (const { id, name, last } of registry.all()) {
    if (last.version === 0 || !flows.has(name.slice(0, name.indexOf('.')))) continue
    const { version, ts, kind, number } = last
    const bytes = last.bytes ?? (hasPayload(kind) ? large.get(id) : undefined) ?? new Uint8Array(0)
    values.push({ name, version, ts, kind, number, bytes })
  }
  return values
}

/** The data that the front needs to continue where the engine ended. The history must be loaded. */
export function readLoaded(
  db: Connection,
  parts: {
    flows: FlowStore
    flavors: Flavors
    users: Users
    sign_ins: SignIns
    registry: Registry
    runs: RunWriter
    codec: Codec
  },
  start: { engine_epoch: number; interrupted: number; interrupted_runs: number; now_us: number },
): Loaded {
  const tables = [
    'states',
    'held',
    'scheduled',
    'waiting',
    'log',
    'chunks',
    'node_errors',
    'fires_seen',
    'settings',
    'users',
    'flavors',
    'runs',
    'run_counts',
  ]
  return readableTables(db, tables, () => loadedOf(db, parts, start))
}

function loadedOf(
  db: Connection,
  parts: Parameters<typeof readLoaded>[1],
  start: Parameters<typeof readLoaded>[2],
): Loaded {
  const flows = parts.flows.list()
  const settings = db.prepare('SELECT name, value FROM settings').all() as { name: string; value: string }[]
  return {
    engine_epoch: start.engine_epoch,
    flows,
    values: valuesOf(db, parts.registry, new Set(flows.map(flow => flow.name))),
    states: readStates(db),
    held: readHeld(db),
    scheduled: readScheduled(db),
    waiting: readWaiting(db, parts.registry),
    node_errors: newestNodeErrors(db, parts.codec, start.now_us - limits.NODE_ERROR_KEPT_MS * 1000),
    fires_seen: readFiresSeen(db),
    settings: Object.fromEntries(settings.filter(({ name }) => !OWN.has(name)).map(({ name, value }) => [name, value])),
    users: parts.users.count(),
    sign_ins: parts.sign_ins.list(),
    flavors: parts.flavors.list(),
    interrupted: start.interrupted,
    runs: parts.runs.loaded(start.interrupted_runs),
  }
}

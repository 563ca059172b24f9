import { limits } from '../../../protocol/limits.ts'
import type { Codec } from '../../../protocol/values/codec.ts'
import { type Flavors, SEEDED } from '../catalog/flavors.ts'
import type { FlowStore } from '../catalog/flow-store.ts'
import { newestNodeErrors } from '../catalog/node-errors.ts'
import type { SignIns } from '../catalog/sign-ins.ts'
import type { Users } from '../catalog/users.ts'
import type { Connection, Statement } from '../file/database.ts'
import type { Loaded, StoredValue } from '../front/replies.ts'
import type { RunWrite } from '../front/requests.ts'
import { hasPayload } from '../history/series.ts'
import type { RunWriter } from '../runs/writer.ts'
import { readHeld, readStates } from './live-state.ts'
import { notCommitted, readRedo } from './redo-log.ts'
import type { Registry } from './registry.ts'
import { REDO_MARK } from './transaction.ts'

const EPOCH = 'engine_epoch'
/** Settings of the store's own. */
const OWN: ReadonlySet<string> = new Set([EPOCH, SEEDED, REDO_MARK])

/** Of the newest start that there was; 0 before the first. */
export const lastEpoch = (db: Connection): number => Number(setting(db, EPOCH) ?? 0)

/** Counts this start. Inside the start's transaction. */
export function nextEpoch(db: Connection): number {
  const epoch = lastEpoch(db) + 1
  db.prepare('INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)').run(EPOCH, String(epoch))
  return epoch
}

/** What the engine before had answered and not committed, oldest first; null when the log does not go on where the file ends. */
export function readNotCommitted(db: Connection, data_dir: string): RunWrite[] | null {
  const epoch = lastEpoch(db)
  const records = notCommitted(readRedo(data_dir, epoch), epoch, setting(db, REDO_MARK))
  return records?.flatMap(({ requests }) => requests as RunWrite[]) ?? null
}

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

/** What the front needs to go on where the engine ended. The history must be loaded. */
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
  const flows = parts.flows.list()
  const settings = db.prepare('SELECT name, value FROM settings').all() as { name: string; value: string }[]
  return {
    engine_epoch: start.engine_epoch,
    flows,
    values: valuesOf(db, parts.registry, new Set(flows.map(flow => flow.name))),
    states: readStates(db),
    held: readHeld(db),
    node_errors: newestNodeErrors(db, parts.codec, start.now_us - limits.NODE_ERROR_KEPT_MS * 1000),
    settings: Object.fromEntries(settings.filter(({ name }) => !OWN.has(name)).map(({ name, value }) => [name, value])),
    users: parts.users.count(),
    sign_ins: parts.sign_ins.list(),
    flavors: parts.flavors.list(),
    interrupted: start.interrupted,
    runs: parts.runs.loaded(start.interrupted_runs),
  }
}

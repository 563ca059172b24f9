import { limits } from '../../../protocol/limits.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { CascadeWriter } from '../cascades/writer.ts'
import { Blobs } from '../catalog/blobs.ts'
import { EventWriter } from '../catalog/events.ts'
import { Fires } from '../catalog/fires.ts'
import { Flavors } from '../catalog/flavors.ts'
import { FlowStore } from '../catalog/flow-store.ts'
import { NodeErrors } from '../catalog/node-errors.ts'
import { Records } from '../catalog/records.ts'
import { Samples } from '../catalog/samples.ts'
import { SignIns } from '../catalog/sign-ins.ts'
import { Users } from '../catalog/users.ts'
import type { StoreBounds } from '../file/bounds.ts'
import { type Connection, databaseFile, openWriter } from '../file/database.ts'
import { DiskUse } from '../file/disk-use.ts'
import { type Damage, Quarantine } from '../file/quarantine.ts'
import { type UnreadablePlace, UnreadableRow } from '../file/unreadable.ts'
import { assertUsable } from '../file/usable.ts'
import { WatchedFiles } from '../file/watched-files.ts'
import type { Loaded, StoreHealth } from '../front/replies.ts'
import { HistoryWriter } from '../history/writer.ts'
import { migrate } from '../migrations/migrate.ts'
import { RunCounts } from '../runs/counts.ts'
import { RunRemovals } from '../runs/retention/removals.ts'
import { RunWriter } from '../runs/writer.ts'
import { ControlWrites } from './control-writes.ts'
import { GroupCommit } from './group-commit.ts'
import { Intake } from './intake.ts'
import { LiveState } from './live-state.ts'
import { countStart, lastEpoch, readLoaded, readNotCommitted, redoDamage, writeAgain } from './load.ts'
import { RedoLog, readRedo } from './redo-log.ts'
import { Registry } from './registry.ts'
import { StoreTransaction } from './transaction.ts'
import { Upkeep, walBytes } from './upkeep.ts'

export interface EngineStoreOptions {
  data_dir: string
  bounds: StoreBounds
  /** Messages that the shared memory has room for. */
  messages: number
  /** Microseconds since 1970. */
  clock: () => number
  /** The age clock: data that is old by it may be removed. `clock` when absent. */
  age_us?: () => number
  /** The steady clock. `clock` when absent. */
  steady_us?: () => number
  readPort: () => void
  onHealth: (health: StoreHealth) => void
  onDamage?: (damage: Damage) => void
  /** A line for the log of the service. */
  log: (text: string) => void
}

/** All writers of the file together, without threads, rings or ports. */
export class EngineStore {
  readonly db: Connection
  readonly registry: Registry
  readonly intake: Intake
  readonly commit: GroupCommit
  readonly history: HistoryWriter
  readonly users: Users
  readonly records: Records
  readonly upkeep: Upkeep
  readonly redo: RedoLog
  readonly transaction: StoreTransaction
  readonly loaded: Loaded

  constructor(options: EngineStoreOptions) {
    const { data_dir, bounds, clock, age_us = clock, steady_us = clock } = options
    assertUsable(data_dir)
    const wasKilled = walBytes(data_dir) > 0
    const db = openWriter(databaseFile(data_dir))
    this.db = db
    try {
      migrate(db)
      const redo_content = readRedo(data_dir)
      const next_epoch = Math.max(lastEpoch(db), redo_content.epoch) + 1
      const quarantine = new Quarantine(db, data_dir, clock)
      const onDamage = options.onDamage ?? (() => {})
      const putAside = (place: UnreadablePlace): Damage => {
        const damage = quarantine.take(place)
        onDamage(damage)
        return damage
      }
      const codec = createCodec()
      let engine_epoch = 0
      const epoch = (): number => engine_epoch
      const disk = new DiskUse(db)
      const blobs = new Blobs(db)
      const flows = new FlowStore(db, blobs, clock)
      const flavors = new Flavors(db)
      const users = new Users(db, clock)
      const records = new Records(db)
      const sign_ins = new SignIns(db, age_us)
      const registry = new Registry(db)
      const history = new HistoryWriter(db, registry, disk, bounds)
      const cascades = new CascadeWriter(db, registry, disk, bounds, epoch)
      const events = new EventWriter(db, disk, clock)
      const errors = new NodeErrors(db, disk, codec, epoch)
      const fires = new Fires(db)
      const live = new LiveState(db, registry, epoch)
      const samples = new Samples(db)
      const counts = new RunCounts(db)
      const runs = new RunWriter(db, events, counts, bounds.runs_queued)
      const removals = new RunRemovals(db, events, counts, disk)
      const controls = new ControlWrites({
        db,
        flows,
        flavors,
        users,
        records,
        sign_ins,
        errors,
        history,
        live,
        registry,
        runs,
        removals,
        putAside,
      })
      const files = new WatchedFiles(data_dir)
      const redo = new RedoLog(data_dir, next_epoch, bounds.redo_bytes, options.log)
      const transaction = new StoreTransaction({ db, controls, redo, disk, counts, files })
      const parts = {
        db,
        data_dir,
        codec,
        registry,
        history,
        cascades,
        events,
        errors,
        fires,
        live,
        samples,
        controls,
        transaction,
        disk,
        files,
        putAside,
        log: options.log,
      }
      this.redo = redo
      this.transaction = transaction
      this.registry = registry
      this.history = history
      this.users = users
      this.records = records
      this.intake = new Intake(registry, options.messages, options.readPort)
      this.commit = new GroupCommit(parts, options.onHealth)
      const { commit, intake } = this
      this.upkeep = new Upkeep({ ...parts, blobs, bounds, clock, age_us, steady_us, commit, intake })
      const parts_of_load = { flows, flavors, users, sign_ins, registry, runs, codec }
      this.loaded = this.#withoutUnreadable(putAside, () => {
        let damage: Damage | null = null
        history.load()
        let loaded: Loaded
        transaction.run(() => {
          const redone = readNotCommitted(db, redo_content, wasKilled)
          damage = redone.damage
          const refused = writeAgain(db, redone.writes, write => controls.apply(write, []))
          if (refused > 0) damage = redoDamage(`${refused} of its writes could not be made again`, refused)
          engine_epoch = next_epoch
          const last_sign = lastSign(db)
          countStart(db, engine_epoch)
          const interrupted = cascades.interrupt(last_sign)
          const interrupted_runs = runs.interrupt(engine_epoch, last_sign)
          flavors.seed()
          counts.write()
          const now_us = clock()
          // Audit events for runs that a killed engine had removed.
          removals.tell(now_us)
          errors.dropOlderThan(age_us() - limits.NODE_ERROR_KEPT_MS * 1000)
          loaded = readLoaded(db, parts_of_load, { engine_epoch, interrupted, interrupted_runs, now_us })
        })
        if (damage !== null) onDamage(damage)
        return loaded!
      })
      if (this.loaded.waiting.length === 0) this.intake.resumed([])
      cascades.load()
    } catch (error) {
      db.close()
      throw error
    }
  }

  /** Each row that cannot be decoded is quarantined, and the load starts again. */
  #withoutUnreadable(putAside: (place: UnreadablePlace) => void, load: () => Loaded): Loaded {
    let before = ''
    for (;;) {
      try {
        return load()
      } catch (error) {
        // The same row again: the quarantine could not repair it.
        if (!(error instanceof UnreadableRow) || error.message === before) throw error
        before = error.message
        this.transaction.run(() => putAside(error.place))
      }
    }
  }

  /** Afterwards the file has everything. On a full disk both logs stay beside it, and the next start reads all three. */
  close(): void {
    this.upkeep.close()
    this.redo.close()
    try {
      // Record that the redo log has ended; then a missing log is no loss.
      this.transaction.run(() => {})
      this.redo.remove()
      this.db.pragma('wal_checkpoint(TRUNCATE)')
    } catch {
      // Everything is committed already.
    }
    this.db.close()
  }
}

/** When the engine before this one was last known to live, microseconds since 1970. */
function lastSign(db: Connection): number {
  const row = db
    .prepare('SELECT max(coalesce((SELECT max(ts) FROM latest), 0), coalesce((SELECT max(ts) FROM samples), 0)) AS ts')
    .get() as { ts: number }
  return row.ts
}

import { limits } from '../../../protocol/limits.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { CascadeWriter } from '../cascades/writer.ts'
import { Blobs } from '../catalog/blobs.ts'
import { EventWriter } from '../catalog/events.ts'
import { Flavors } from '../catalog/flavors.ts'
import { FlowStore } from '../catalog/flow-store.ts'
import { NodeErrors } from '../catalog/node-errors.ts'
import { Samples } from '../catalog/samples.ts'
import { SignIns } from '../catalog/sign-ins.ts'
import { Users } from '../catalog/users.ts'
import type { StoreBounds } from '../file/bounds.ts'
import { type Connection, databaseFile, openWriter } from '../file/database.ts'
import { DiskUse } from '../file/disk-use.ts'
import { assertUsable } from '../file/usable.ts'
import { WatchedFiles } from '../file/watched-files.ts'
import type { Loaded, StoreHealth } from '../front/replies.ts'
import { HistoryWriter } from '../history/writer.ts'
import { migrate } from '../migrations/migrate.ts'
import { RunCounts } from '../runs/counts.ts'
import { RunWriter } from '../runs/writer.ts'
import { ControlWrites } from './control-writes.ts'
import { GroupCommit } from './group-commit.ts'
import { Intake } from './intake.ts'
import { LiveState } from './live-state.ts'
import { lastEpoch, nextEpoch, readLoaded, readNotCommitted } from './load.ts'
import { RedoLog } from './redo-log.ts'
import { Registry } from './registry.ts'
import { StoreTransaction } from './transaction.ts'
import { Upkeep } from './upkeep.ts'

export interface EngineStoreOptions {
  data_dir: string
  bounds: StoreBounds
  /** Messages that the shared memory has room for. */
  messages: number
  /** Microseconds since 1970. */
  clock: () => number
  readPort: () => void
  onHealth: (health: StoreHealth) => void
  /** A line for the log of the service. */
  log: (text: string) => void
}

/** The writing side of the file, put together. It knows no thread, ring or port. */
export class EngineStore {
  readonly db: Connection
  readonly registry: Registry
  readonly intake: Intake
  readonly commit: GroupCommit
  readonly history: HistoryWriter
  readonly users: Users
  readonly upkeep: Upkeep
  readonly redo: RedoLog
  readonly transaction: StoreTransaction
  readonly loaded: Loaded

  constructor(options: EngineStoreOptions) {
    const { data_dir, bounds, clock } = options
    assertUsable(data_dir)
    const db = openWriter(databaseFile(data_dir))
    this.db = db
    try {
      migrate(db)
      const codec = createCodec()
      let engine_epoch = 0
      const epoch = (): number => engine_epoch
      const disk = new DiskUse(db)
      const blobs = new Blobs(db)
      const flows = new FlowStore(db, blobs, clock)
      const flavors = new Flavors(db)
      const users = new Users(db, clock)
      const sign_ins = new SignIns(db, clock)
      const registry = new Registry(db)
      const history = new HistoryWriter(db, registry, disk, bounds)
      const cascades = new CascadeWriter(db, registry, disk, bounds, epoch)
      const events = new EventWriter(db, disk, clock)
      const errors = new NodeErrors(db, disk, codec, epoch)
      const live = new LiveState(db, registry)
      const samples = new Samples(db)
      const counts = new RunCounts(db)
      const runs = new RunWriter(db, events, counts, bounds.runs_queued)
      const controls = new ControlWrites({ db, flows, flavors, users, sign_ins, errors, history, live, registry, runs })
      const files = new WatchedFiles(data_dir)
      const redo = new RedoLog(data_dir, lastEpoch(db) + 1, bounds.redo_bytes, options.log)
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
        live,
        samples,
        controls,
        transaction,
        disk,
        files,
        log: options.log,
      }
      this.redo = redo
      this.transaction = transaction
      this.registry = registry
      this.history = history
      this.users = users
      this.intake = new Intake(registry, options.messages, options.readPort)
      this.commit = new GroupCommit(parts, options.onHealth)
      this.upkeep = new Upkeep({ ...parts, blobs, bounds, clock, commit: this.commit })
      history.load()
      let loaded: Loaded
      transaction.run(() => {
        const again = readNotCommitted(db, data_dir)
        if (again === null) options.log('redo.log does not go on where engine.db ends: it was left alone')
        for (const request of again ?? []) controls.apply(request, [])
        engine_epoch = nextEpoch(db)
        const last_sign = lastSign(db)
        const interrupted = cascades.interrupt(last_sign)
        const interrupted_runs = runs.interrupt(engine_epoch, last_sign)
        flavors.seed()
        counts.write()
        const now_us = clock()
        errors.dropOlderThan(now_us - limits.NODE_ERROR_KEPT_MS * 1000)
        loaded = readLoaded(
          db,
          { flows, flavors, users, sign_ins, registry, runs, codec },
          { engine_epoch, interrupted, interrupted_runs, now_us },
        )
        db.prepare('UPDATE flows SET not_run = 0 WHERE not_run <> 0').run()
      })
      this.loaded = loaded!
      cascades.load()
    } catch (error) {
      db.close()
      throw error
    }
  }

  /** The file alone holds everything afterwards; on a full disk both logs stay beside it, and the next start reads all three. */
  close(): void {
    if (this.transaction.isWhole) this.redo.remove()
    else this.redo.close()
    try {
      this.db.pragma('wal_checkpoint(TRUNCATE)')
    } catch {
      // What is committed stays committed.
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

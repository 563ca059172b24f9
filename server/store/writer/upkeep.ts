import { statSync } from 'node:fs'
import type { CascadeWriter } from '../cascades/writer.ts'
import type { Blobs } from '../catalog/blobs.ts'
import { Compaction } from '../catalog/compaction.ts'
import type { EventWriter } from '../catalog/events.ts'
import type { Samples } from '../catalog/samples.ts'
import type { StoreBounds } from '../file/bounds.ts'
import { type Connection, databaseFile } from '../file/database.ts'
import type { DiskUse } from '../file/disk-use.ts'
import type { WatchedFiles } from '../file/watched-files.ts'
import { RollupSweep } from '../history/rollup-sweep.ts'
import type { HistoryWriter } from '../history/writer.ts'
import { LongRows } from '../runs/long-rows.ts'
import { RunBytes } from '../runs/retention/run-bytes.ts'
import { SearchIndex } from '../search/search-index.ts'
import { WantedVersions } from '../waiting/wanted.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Intake } from './intake.ts'
import type { Registry } from './registry.ts'

interface Parts {
  db: Connection
  data_dir: string
  bounds: StoreBounds
  clock: () => number
  age_us: () => number
  steady_us: () => number
  commit: GroupCommit
  history: HistoryWriter
  cascades: CascadeWriter
  events: EventWriter
  samples: Samples
  blobs: Blobs
  disk: DiskUse
  registry: Registry
  intake: Intake
  log: (text: string) => void
  files: WatchedFiles
}

const DROP_ROWS = 64
const CLOSE_BINS = 2000
/** A bin is closed by the clock a little after its end, so that points on their way still find it open. */
const CLOSE_AFTER_US = 1_000_000
/** Interval of the check for missing files while nothing is committed. */
const LOOK_EVERY_US = 1_000_000
const MINUTE_US = 60_000_000
const COARSEN_EVERY_US = 600_000_000
/** Free pages beyond this go back to the file system. */
const FREE_BYTES = 64 * 1024 * 1024
const VACUUM_PAGES = 256
const VACUUM_EVERY_US = 1_000_000
const COUNT_EVERY_US = 250_000

/**
 * Maintenance of the file, in short steps between commits: log into chunks, bins closed by the clock, classes within
 * their budgets (oldest first), old documents compacted, SQLite's own log written back before it is large.
 */
export class Upkeep {
  readonly #parts: Parts
  readonly #compaction: Compaction
  readonly #rollups: RollupSweep
  readonly #long_rows: LongRows
  readonly #run_bytes: RunBytes
  readonly #search: SearchIndex
  readonly #page_bytes: number
  #looked = 0
  #closed_until = 0
  #coarsened = 0
  #vacuumed = 0
  #counted = 0

  constructor(parts: Parts) {
    this.#parts = parts
    this.#compaction = new Compaction(parts.db, parts.blobs, parts.bounds.compact_every_changes)
    this.#rollups = new RollupSweep(parts.db, parts.disk, parts.age_us, parts.bounds.history_bytes / 2)
    this.#long_rows = new LongRows(parts.db)
    this.#run_bytes = new RunBytes(parts.db, parts.disk)
    this.#search = new SearchIndex(parts)
    // When SQLite restarts its log it truncates the file to this size, below the length at which it is written back. So the length tells
    // how much there is to write back, and most of the file can be used again.
    parts.db.pragma(`journal_size_limit = ${Math.floor((parts.bounds.wal_bytes * 3) / 8)}`)
    this.#page_bytes = parts.db.pragma('page_size', { simple: true }) as number
  }

  /** One round; true when there is more to do at once. */
  step(): boolean {
    const { steady_us, commit, history } = this.#parts
    const now = steady_us()
    if (now >= this.#looked + LOOK_EVERY_US) {
      this.#looked = now
      commit.look()
    }
    if (commit.isDown) return false
    this.checkpoint(this.#parts.bounds.wal_bytes / 2)
    if (history.shouldSeal()) commit.upkeep(() => history.seal())
    const more = [
      this.#closeBins(),
      this.#drop(),
      this.#rollups.isDue() && commit.upkeep(() => this.#rollups.step()),
      this.#long_rows.isDue() && commit.upkeep(() => this.#long_rows.step()),
      this.#compaction.isDue() && commit.upkeep(() => this.#compaction.step()),
      this.#countRuns(),
      this.#search.step(),
    ]
    if (this.#search.readUpTo !== null) commit.upkeep(() => this.#search.removeRead())
    this.#coarsen()
    this.#vacuum()
    return more.includes(true) && !commit.isDown
  }

  close(): void {
    this.#search.close()
  }

  /** Writes SQLite's log back into the file when it passed `bytes`. Readers keep no snapshot open, so it reaches the end. */
  checkpoint(bytes: number): void {
    const { db, data_dir } = this.#parts
    if (walBytes(data_dir) < bytes) return
    try {
      const [result] = db.pragma('wal_checkpoint(PASSIVE)') as [{ busy: number; log: number; checkpointed: number }]
      // A reader has delayed it and the log is over its bound: wait for readers, then restart the log.
      if (result.checkpointed < result.log && result.log * this.#page_bytes > this.#parts.bounds.wal_bytes) {
        db.pragma('wal_checkpoint(RESTART)')
      }
    } catch (error) {
      // It is busy, or the disk failed; the next round tries again.
      this.#parts.commit.notWrittenBack(error)
    }
  }

  /** Writes bins that have ended without a later point. True while some are left. */
  #closeBins(): boolean {
    const { clock, commit, history } = this.#parts
    const until = Math.floor((clock() - CLOSE_AFTER_US) / MINUTE_US) * MINUTE_US
    if (until <= this.#closed_until) return false
    let done = false
    const went = commit.upkeep(() => {
      done = history.closeBins(until, CLOSE_BINS)
    })
    if (went && done) this.#closed_until = until
    return went && !done
  }

  #drop(): boolean {
    const { bounds, cascades, commit, disk, events, history, intake, registry } = this.#parts
    let more = false
    const over = (name: 'history' | 'cascades' | 'events', budget: number, drop: (bytes: number) => boolean): void => {
      if (disk.bytes(name) <= budget) return
      let found = false
      const went = commit.upkeep(() => {
        found = drop(disk.bytes(name) - budget)
      })
      if (went && found && disk.bytes(name) > budget) more = true
    }
    // Until the front has told what it queued again, it is unknown which values still wait.
    if (intake.isReady) {
      over('history', bounds.history_bytes - disk.bytes('rollups'), bytes => {
        const wanted = new WantedVersions(intake.waiting, message => registry.series(message).id)
        return history.dropOldest(DROP_ROWS, bytes, wanted)
      })
    }
    over('cascades', bounds.cascades_bytes, bytes => cascades.dropOldest(DROP_ROWS, bytes))
    over('events', bounds.events_bytes, bytes => events.dropOldest(DROP_ROWS * 16, bytes))
    return more
  }

  /** Counts the size of runs that have ended since the last time, more at once when there are many. */
  #countRuns(): boolean {
    const { steady_us, commit } = this.#parts
    const now = steady_us()
    if (now < this.#counted + COUNT_EVERY_US) return false
    let more = false
    if (this.#run_bytes.isDue())
      commit.upkeep(() => {
        more = this.#run_bytes.step()
      })
    if (!more) this.#counted = now
    return more
  }

  #coarsen(): void {
    const { age_us, steady_us, commit, samples } = this.#parts
    const now = steady_us()
    if (now < this.#coarsened + COARSEN_EVERY_US) return
    this.#coarsened = now
    commit.upkeep(() => samples.coarsen(age_us()))
  }

  #vacuum(): void {
    const { steady_us, db } = this.#parts
    const now = steady_us()
    if (now < this.#vacuumed + VACUUM_EVERY_US) return
    this.#vacuumed = now
    const free = db.pragma('freelist_count', { simple: true }) as number
    if (free * this.#page_bytes <= FREE_BYTES) return
    try {
      db.pragma(`incremental_vacuum(${VACUUM_PAGES})`)
    } catch {
      // It only frees pages; a fault such as a full disk is reported by commits.
    }
  }
}

export function walBytes(data_dir: string): number {
  return statSync(`${databaseFile(data_dir)}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

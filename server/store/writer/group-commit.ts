import type { DiskFault } from '../../../protocol/disk-faults.ts'
import type { ServiceError } from '../../../protocol/errors.ts'
import { ServiceError as Refusal } from '../../../protocol/errors.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { Codec } from '../../../protocol/values/codec.ts'
import type { Note } from '../../../threads/lane/messages.ts'
import type { CascadeWriter } from '../cascades/writer.ts'
import type { EventWriter } from '../catalog/events.ts'
import type { Fires } from '../catalog/fires.ts'
import type { NodeErrors } from '../catalog/node-errors.ts'
import type { Samples } from '../catalog/samples.ts'
import type { Connection, Statement } from '../file/database.ts'
import { faultOf, isSqlite, refusalOf } from '../file/faults.ts'
import { type UnreadablePlace, UnreadableRow } from '../file/unreadable.ts'
import type { WatchedFiles } from '../file/watched-files.ts'
import type { Answer, StoreHealth } from '../front/replies.ts'
import type { ControlRequest, Sample } from '../front/requests.ts'
import type { HistoryWriter } from '../history/writer.ts'
import type { AfterCommit, ControlWrites } from './control-writes.ts'
import type { Intake } from './intake.ts'
import type { LiveState } from './live-state.ts'
import type { Registry } from './registry.ts'
import type { StoreTransaction } from './transaction.ts'

export interface Waiting {
  id: number
  request: ControlRequest
  /** For a run write: its JSON, for the redo log. A refused write writes nothing. */
  text?: string
}

/** Threads of the engine write their events into their journals, too. */
type KeptNote = Note | { type: 'event'; event: EngineEvent; ts: number }

interface Parts {
  db: Connection
  data_dir: string
  codec: Codec
  registry: Registry
  history: HistoryWriter
  cascades: CascadeWriter
  events: EventWriter
  errors: NodeErrors
  fires: Fires
  live: LiveState
  samples: Samples
  controls: ControlWrites
  transaction: StoreTransaction
  putAside: (place: UnreadablePlace) => unknown
  files: WatchedFiles
  /** A line for the log of the service. */
  log: (text: string) => void
}

/**
 * One transaction for everything that waits: records of the journals, then control writes in order of arrival.
 * A refused control write undoes only itself (it has a savepoint). A failed transaction is undone as a whole. Then the history is
 * committed without the control writes, and dropped and counted if that fails, too. The control writes are tried again one by one, so that each
 * gets its own answer.
 *
 *   well --the disk refuses a commit--> down --a probe goes through--> well
 *
 * When only run writes wait, they are answered when the redo log has them, and their transaction stays open until the next commit.
 */
export class GroupCommit {
  readonly #parts: Parts
  readonly events: EngineEvent[] = []
  readonly samples: Sample[] = []
  readonly #onHealth: (health: StoreHealth) => void
  readonly #savepoint: Statement
  readonly #release: Statement
  readonly #rollbackTo: Statement
  #fault: DiskFault | null = null
  /** Memory and file differ, because reading the file again has failed. */
  #stale = false
  #dropped = 0
  #failure: string | null = null

  constructor(parts: Parts, onHealth: (health: StoreHealth) => void) {
    this.#parts = parts
    this.#onHealth = onHealth
    this.#savepoint = parts.db.prepare('SAVEPOINT control')
    this.#release = parts.db.prepare('RELEASE control')
    this.#rollbackTo = parts.db.prepare('ROLLBACK TO control')
  }

  /** Whether the disk takes no commits: then history is dropped, and each control write is tried on its own. */
  get isDown(): boolean {
    return this.#fault !== null
  }

  /** Returns when the redo log, or a commit, has the writes. Null when not all are run writes; nothing was done then. */
  keep(waiting: readonly Waiting[]): Answer[] | null {
    if (this.isDown || waiting.some(({ text }) => text === undefined)) return null
    const { transaction } = this.#parts
    try {
      transaction.open()
      const answers = waiting.map(one => this.#apply(one, []))
      const written = waiting.filter((_, at) => 'result' in answers[at]!)
      if (written.length > 0 && !transaction.keep(written as Required<Waiting>[])) transaction.commit()
      return answers
    } catch (error) {
      transaction.undo()
      this.#failed(error)
      return waiting.map(one => this.#alone(one))
    }
  }

  /** Commits. Returns when everything is on disk, also writes of the redo log. Empties the intake. */
  run(intake: Intake, waiting: readonly Waiting[]): Answer[] {
    if (this.isDown) {
      this.#drop(intake)
      return waiting.map(one => this.#alone(one))
    }
    const answers: Answer[] = []
    const after: AfterCommit[] = []
    try {
      if (this.#stale) this.#reload()
      this.#parts.transaction.run(() => {
        this.#write(intake)
        for (const one of waiting) answers.push(this.#apply(one, after))
      })
    } catch (error) {
      this.#failed(error)
      // A write failed although the disk works: commit the records of the journals without the writes.
      if (waiting.length > 0 && !this.isDown) this.run(intake, [])
      else this.#drop(intake)
      return waiting.map(one => this.#alone(one))
    }
    for (const follow of after) follow()
    this.#parts.registry.settled()
    this.#recovered()
    this.#countUnknown(intake)
    intake.clear()
    this.events.length = 0
    this.samples.length = 0
    return answers
  }

  /** Runs a step of upkeep in a transaction of its own. A failure is recorded, not thrown. */
  upkeep(step: () => void): boolean {
    try {
      this.#parts.transaction.run(step)
      return true
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  /** While the disk is down: tests whether it takes a commit again. */
  probe(): void {
    const { db, files } = this.#parts
    try {
      files.assertThere()
      // Writing the database's log back may free the room that a commit needs.
      db.pragma('wal_checkpoint(PASSIVE)')
      this.#parts.transaction.run(() => {
        db.prepare("INSERT OR REPLACE INTO settings (name, value) VALUES ('probe', hex(zeroblob(131072)))").run()
      })
      this.#parts.transaction.run(() => {
        db.prepare("DELETE FROM settings WHERE name = 'probe'").run()
      })
      if (this.#stale) this.#reload()
    } catch (error) {
      // The fault may have changed.
      const fault = faultOf(error, this.#parts.data_dir)
      if (fault === null || fault.code === this.#fault?.code) return
      this.#fault = fault
      this.#report()
      return
    }
    this.#fault = null
    this.#report()
  }

  /** Checks that the files still exist, for times without commits. */
  look(): void {
    const fault = this.isDown ? null : this.#parts.files.lost()
    if (fault === null) return
    this.#fault = fault
    this.#report()
  }

  /** SQLite's log could not be written back. It keeps growing, so after a disk fault commits stop, too. */
  notWrittenBack(error: unknown): void {
    const fault = faultOf(error, this.#parts.data_dir)
    if (fault === null || this.isDown) return
    this.#parts.log(`engine.db-wal cannot be written back: ${fault.reason}`)
    this.#fault = fault
    this.#report()
  }

  #write(intake: Intake): void {
    const { registry, history, cascades, live, events, samples } = this.#parts
    registry.settle()
    history.write(intake.points)
    cascades.write(intake.cascades)
    live.write(intake)
    for (const note of intake.notes) this.#note(note)
    for (const event of this.events) events.write(event)
    for (const sample of this.samples) samples.write(sample)
  }

  /** A malformed note is dropped; the commit continues. */
  #note(bytes: Buffer): void {
    try {
      this.#writeNote(this.#parts.codec.decodePlain(bytes) as KeptNote)
    } catch (error) {
      if (isSqlite(error)) throw error
      this.#parts.log(`a note was not kept: ${String(error)}`)
    }
  }

  #writeNote(note: KeptNote): void {
    const { errors, events, fires } = this.#parts
    switch (note.type) {
      case 'error': {
        errors.write(note)
        const { node, code, message } = note
        const flow = node.slice(0, node.indexOf('.'))
        events.write({ type: 'node_error', ts: formatTime(note.ts), flow, run: null, node, code, message })
        return
      }
      case 'event':
        events.write(note.event)
        return
      case 'log': {
        const { node, level, text, ts } = note
        const flow = node.slice(0, node.indexOf('.'))
        events.write({ type: 'node_log', ts: formatTime(ts), flow, run: null, node, level, text })
        return
      }
      case 'fires':
        fires.write(note.runs)
        return
      case 'fires_seen':
        fires.seen(note.nodes, note.ts)
        return
      // The front makes events and issues of these notes, and sends the events to the store.
      case 'gauge':
      case 'report':
      case 'promoted':
      case 'demoted':
      case 'cycle':
      case 'dropped':
        return
      default:
        note satisfies never
        throw new TypeError(`unknown note ${JSON.stringify(note)}`)
    }
  }

  #apply({ id, request, text }: Waiting, after: AfterCommit[]): Answer {
    const { controls } = this.#parts
    const follows: AfterCommit[] = []
    const isWhole = text !== undefined
    if (!isWhole) this.#savepoint.run()
    try {
      this.#assertDurable(request)
      const result = controls.apply(request, follows)
      if (!isWhole) this.#release.run()
      after.push(...follows)
      return { id, result }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (!isWhole) {
        this.#rollbackTo.run()
        this.#release.run()
      }
      return { id, problem: error.toJSON() }
    }
  }

  /** Refuses when history was dropped since the caller last knew, because his values may be among it. */
  #assertDurable(request: ControlRequest): void {
    if (request.type !== 'durable' || request.dropped === this.#dropped) return
    const why = this.#fault?.reason ?? 'A commit of the store has failed'
    throw new Refusal('not_durable', `${why}.`)
  }

  #alone(one: Waiting): Answer {
    const after: AfterCommit[] = []
    let answer: Answer
    try {
      this.#parts.transaction.run(() => {
        answer = this.#apply(one, after)
      })
    } catch (error) {
      const refusal: ServiceError = refusalOf(error, this.#parts.data_dir, this.#faultOf(error))
      return { id: one.id, problem: refusal.toJSON() }
    }
    for (const follow of after) follow()
    return answer!
  }

  #failed(error: unknown): void {
    if (error instanceof UnreadableRow) this.#putAside(error.place)
    const fault = faultOf(error, this.#parts.data_dir)
    if (fault !== null) this.#fault = fault
    else this.#failure = error instanceof Error ? (error.stack ?? error.message) : String(error)
    try {
      this.#reload()
    } catch (unread) {
      this.#stale = true
      this.#fault ??= faultOf(unread, this.#parts.data_dir)
      this.#failure ??= String(unread)
    }
    this.#report()
  }

  /** Puts an unreadable row into the quarantine. */
  #putAside(place: UnreadablePlace): void {
    try {
      this.#parts.transaction.run(() => this.#parts.putAside(place))
    } catch (error) {
      this.#parts.log(`the row of "${place.table}" could not be put aside: ${String(error)}`)
    }
  }

  #reload(): void {
    this.#parts.history.load()
    this.#parts.cascades.load()
    this.#stale = false
  }

  /** While the disk is down, the test write is not repeated for each write. */
  #faultOf(error: unknown): DiskFault | null {
    return isSqlite(error) && this.#fault !== null ? this.#fault : faultOf(error, this.#parts.data_dir)
  }

  #drop(intake: Intake): void {
    const dropped = intake.points.count + intake.cascades.count
    this.#parts.history.remember(intake.points)
    intake.drop()
    this.events.length = 0
    this.samples.length = 0
    if (dropped === 0) return
    this.#dropped += dropped
    this.#report()
  }

  /** Logs and counts records of indexes that are not registered: a defect of the engine. */
  #countUnknown(intake: Intake): void {
    if (intake.unknown === 0) return
    this.#parts.log(`${intake.unknown} records of unknown messages or nodes were dropped`)
    this.#dropped += intake.unknown
    intake.unknown = 0
    this.#report()
  }

  /** A failure is over after the first successful commit. */
  #recovered(): void {
    if (this.#failure === null) return
    this.#failure = null
    this.#report()
  }

  #report(): void {
    this.#onHealth({ fault: this.#fault, dropped: this.#dropped, failure: this.#failure })
  }
}

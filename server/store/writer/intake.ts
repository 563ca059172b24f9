import { JOURNAL, VALUE_FLAG } from '../../../core/memory/journal/record.ts'
import type { JournalVisitor, RecordView } from '../../../core/memory/journal/view.ts'
import { CascadeRows, COLUMN } from '../cascades/pending.ts'
import type { ResumedFlow } from '../front/requests.ts'
import { PendingPoints } from '../history/pending-points.ts'
import { hasPayload } from '../history/series.ts'
import { WaitingFlows } from '../waiting/flows.ts'
import type { Registry } from './registry.ts'
import { ScheduledChanges } from './scheduled.ts'

/** A node's whole state as its lane encoded it; empty when the state was removed. */
export interface StateChange {
  /** Goes up with each write of the node's state, whichever thread makes it (core/memory/states.ts). */
  version: number
  /** When it was recorded, microseconds. */
  ts: number
  bytes: Buffer
}

/** A held (rate-limited) value that changed since the last commit; `due_ms` is 0 when it is no longer held. */
export interface HeldChange {
  due_ms: number
  ts: number
  kind: number
  number: number
  bytes: Buffer | null
}

/**
 * The records that were read from the journals since the last commit. It visits the records (`JournalVisitor`), copies what it keeps,
 * and allocates nothing per value. When an index is not registered, the port is read once more; if it is still unknown, the record is counted.
 */
export class Intake implements JournalVisitor {
  readonly points: PendingPoints
  readonly cascades = new CascadeRows()
  /** The newest state of each node, by node index. */
  readonly states = new Map<number, StateChange>()
  /** Version and time of each node's newest state, committed or not: a lane may write an old state of a node that began again since. */
  readonly #newest_states = new Map<number, { version: number; ts: number }>()
  readonly holds = new Map<number, HeldChange>()
  readonly scheduled = new ScheduledChanges()
  readonly notes: Buffer[] = []
  readonly waiting = new WaitingFlows()
  /** False until the start has told what it queued again; nothing is read before that. */
  isReady = false
  unknown = 0
  #note_bytes = 0
  readonly #registry: Registry
  readonly #known: Uint8Array
  readonly #readPort: () => void

  /** `readPort` takes waiting messages of the thread's port, which bring registrations. */
  constructor(registry: Registry, messages: number, readPort: () => void) {
    this.#registry = registry
    this.points = new PendingPoints(messages)
    this.#known = new Uint8Array(messages)
    this.#readPort = readPort
  }

  isEmpty(): boolean {
    return (
      this.points.count === 0 &&
      this.cascades.count === 0 &&
      this.states.size === 0 &&
      this.holds.size === 0 &&
      this.scheduled.isEmpty &&
      this.notes.length === 0 &&
      this.waiting.changed.length === 0
    )
  }

  /** Bytes of the payloads and notes since the last commit. */
  bytes(): number {
    return this.points.used + this.#note_bytes
  }

  clear(): void {
    this.points.clear()
    this.cascades.clear()
    this.states.clear()
    this.holds.clear()
    this.scheduled.written()
    this.notes.length = 0
    this.waiting.written()
    this.#note_bytes = 0
  }

  visit(record: RecordView): void {
    switch (record.kind) {
      case JOURNAL.value:
        this.#value(record)
        break
      case JOURNAL.cascade:
        this.#cascade(record)
        break
      case JOURNAL.state:
        this.#state(record)
        break
      case JOURNAL.held:
        this.#held(record)
        break
      case JOURNAL.scheduled:
        if (this.#knows(record.subject)) this.scheduled.scheduled(record)
        break
      case JOURNAL.released:
        if (this.#knows(record.subject)) this.scheduled.released(record)
        break
      case JOURNAL.note:
        this.notes.push(payloadOf(record))
        this.#note_bytes += record.length
        break
      case JOURNAL.queued:
        if (this.#knows(record.message)) this.waiting.queued(record)
        break
      case JOURNAL.fresh:
        this.waiting.fresh(record)
        break
      case JOURNAL.taken:
        this.waiting.taken(record)
        break
      default:
        throw new RangeError(`a journal record of kind ${record.kind}`)
    }
  }

  #value(record: RecordView): void {
    const { subject: message, version, ts, value_kind: kind } = record
    if (!this.#knows(message)) return
    if (hasPayload(kind)) this.points.addBytes(message, version, ts, kind, record.bytes, record.start, record.length)
    else this.points.add(message, version, ts, kind, record.number) // of no payload: meta is the kind
    if ((record.flags & VALUE_FLAG.queued) !== 0) this.waiting.value(record)
  }

  #cascade(record: RecordView): void {
    const { message } = record
    if (!this.#knows(message)) return
    this.waiting.cascade(record)
    const at = this.cascades.add()
    const { values } = this.cascades
    values[at + COLUMN.started] = Math.floor(record.ts)
    values[at + COLUMN.duration] = Math.max(0, Math.round(record.duration_us))
    values[at + COLUMN.seq] = record.seq
    values[at + COLUMN.flow] = record.subject
    values[at + COLUMN.message] = message
    values[at + COLUMN.root_version] = record.version
    values[at + COLUMN.status] = record.status
    values[at + COLUMN.executions] = record.executions
    values[at + COLUMN.errors] = record.errors
    values[at + COLUMN.parent_seq] = record.parent_seq
    values[at + COLUMN.parent_ts] = Math.floor(record.parent_ts)
  }

  /** A node's whole state. */
  #state(record: RecordView): void {
    const { subject, version, ts } = record
    if (!this.#registry.knowsNode(subject)) this.#readPort()
    if (!this.#registry.knowsNode(subject)) {
      this.unknown++
      return
    }
    const newest = this.#newest_states.get(subject)
    if (isOlderState(version, ts, newest)) return
    if (newest === undefined) this.#newest_states.set(subject, { version, ts })
    else Object.assign(newest, { version, ts })
    this.states.set(subject, { version, ts, bytes: payloadOf(record) })
  }

  #held(record: RecordView): void {
    const { subject: message, due_ms, ts, value_kind: kind, number } = record
    if (!this.#knows(message)) return
    if (isOlder(due_ms, ts, this.holds.get(message))) return
    const bytes = hasPayload(kind) && due_ms !== 0 ? payloadOf(record) : null
    this.holds.set(message, { due_ms, ts: Math.floor(ts), kind, number, bytes })
  }

  /** The items that the start has queued again; later records may refer to them. */
  resumed(flows: readonly ResumedFlow[]): void {
    for (const flow of flows) this.waiting.resumed(flow)
    this.isReady = true
  }

  /** Drops values and records. States, held and scheduled values and waiting items stay: only the newest of each counts, and a later commit can write it. */
  drop(): void {
    this.points.clear()
    this.cascades.clear()
    this.notes.length = 0
    this.#note_bytes = 0
  }

  #knows(message: number): boolean {
    return this.#known[message] === 1 || this.#learn(message)
  }

  #learn(message: number): boolean {
    if (!this.#registry.knowsMessage(message)) this.#readPort()
    if (!this.#registry.knowsMessage(message)) {
      this.unknown++
      return false
    }
    this.#known[message] = 1
    return true
  }
}

const payloadOf = ({ bytes, start, length }: RecordView): Buffer => Buffer.from(bytes.subarray(start, start + length))

/**
 * A flow moves from lane to lane, and rings are read one after the other, so the later state wins, not the later ring. Two states have
 * the same version when a lane died after it wrote the journal and before it wrote the node's row; then the later time wins.
 */
function isOlderState(version: number, ts: number, known: Omit<StateChange, 'bytes'> | undefined): boolean {
  if (known === undefined || version > known.version) return false
  return version < known.version || ts < known.ts
}

/**
 * Lanes hold values and the timer releases them, each with its own ring and clock. A value is released when
 * it is due, so a value that is due later was held afterwards.
 */
function isOlder(due_ms: number, ts: number, known: HeldChange | undefined): boolean {
  if (known === undefined) return false
  if (due_ms === 0) return known.due_ms !== 0 && known.due_ms * 1000 > ts
  return known.due_ms === 0 ? due_ms * 1000 <= known.ts : ts < known.ts
}

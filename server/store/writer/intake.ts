import type { JournalVisitor } from '../../../core/memory/journal/reader.ts'
import { JOURNAL } from '../../../core/memory/journal/record.ts'
import { CascadeRows, COLUMN } from '../cascades/pending.ts'
import { PendingPoints } from '../history/pending-points.ts'
import { hasPayload } from '../history/series.ts'
import type { Registry } from './registry.ts'

/** A node's whole state, as its lane encoded it; empty: it has none any more. */
export interface StateChange {
  /** Goes up with each write of the node's state, whichever thread makes it (core/memory/states.ts). */
  version: number
  /** When it was recorded, microseconds. */
  ts: number
  bytes: Buffer
}

/** A held (rate-limited) value that changed since the last commit; `due_ms` 0: it is held no more. */
export interface HeldChange {
  due_ms: number
  ts: number
  kind: number
  number: number
  bytes: Buffer | null
}

const QUEUED = 1

/**
 * What was drained from the journals since the last commit. It visits the records (`JournalVisitor`), copies what it keeps,
 * and allocates nothing per value. Records whose index nobody registered are counted, after the port was read once more.
 */
export class Intake implements JournalVisitor {
  readonly points: PendingPoints
  readonly cascades = new CascadeRows()
  /** By node index; only the newest of each node. */
  readonly states = new Map<number, StateChange>()
  /** Of each node's newest state, committed or not: a lane may be late with the state of a node that began anew since. */
  readonly #newest_states = new Map<number, { version: number; ts: number }>()
  readonly holds = new Map<number, HeldChange>()
  readonly notes: Buffer[] = []
  /** Items that entered the queue of a message's flow, by message index. */
  readonly queued: Int32Array
  /** Items that were taken, by flow index. */
  readonly takes = new Map<number, number>()
  unknown = 0
  #note_bytes = 0
  readonly #registry: Registry
  readonly #known: Uint8Array
  readonly #readPort: () => void

  /** `readPort` takes what waits at the thread's port: registrations come that way. */
  constructor(registry: Registry, messages: number, readPort: () => void) {
    this.#registry = registry
    this.points = new PendingPoints(messages)
    this.queued = new Int32Array(messages)
    this.#known = new Uint8Array(messages)
    this.#readPort = readPort
  }

  isEmpty(): boolean {
    return (
      this.points.count === 0 &&
      this.cascades.count === 0 &&
      this.states.size === 0 &&
      this.holds.size === 0 &&
      this.notes.length === 0 &&
      this.takes.size === 0
    )
  }

  /** Bytes of payloads and notes that wait here. */
  bytes(): number {
    return this.points.used + this.#note_bytes
  }

  clear(): void {
    const { points, queued } = this
    for (let i = 0; i < points.dirtyCount; i++) queued[points.dirty[i]!] = 0
    points.clear()
    this.cascades.clear()
    this.states.clear()
    this.holds.clear()
    this.notes.length = 0
    this.takes.clear()
    this.#note_bytes = 0
  }

  value(
    message: number,
    version: number,
    ts: number,
    flags: number,
    kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void {
    if (this.#known[message] !== 1 && !this.#learn(message)) return
    if (hasPayload(kind)) this.points.addBytes(message, version, ts, kind, bytes, at, length)
    else this.points.add(message, version, ts, kind, number) // of no payload: meta is the kind
    if (flags & QUEUED) this.queued[message]!++
  }

  cascade(
    flow: number,
    message: number,
    root_version: number,
    seq: number,
    started_us: number,
    duration_us: number,
    status: number,
    executions: number,
    errors: number,
    parent_seq: number,
    parent_ts: number,
  ): void {
    if (this.#known[message] !== 1 && !this.#learn(message)) return
    const at = this.cascades.add()
    const { values } = this.cascades
    values[at + COLUMN.started] = Math.floor(started_us)
    values[at + COLUMN.duration] = Math.max(0, Math.round(duration_us))
    values[at + COLUMN.seq] = seq
    values[at + COLUMN.flow] = flow
    values[at + COLUMN.message] = message
    values[at + COLUMN.root_version] = root_version
    values[at + COLUMN.status] = status
    values[at + COLUMN.executions] = executions
    values[at + COLUMN.errors] = errors
    values[at + COLUMN.parent_seq] = parent_seq
    values[at + COLUMN.parent_ts] = Math.floor(parent_ts)
  }

  /** A node's whole state, or a note. */
  blob(kind: number, subject: number, ts: number, bytes: Buffer, at: number, length: number, version: number): void {
    const payload = Buffer.from(bytes.subarray(at, at + length))
    if (kind === JOURNAL.note) {
      this.notes.push(payload)
      this.#note_bytes += length
      return
    }
    if (!this.#registry.knowsNode(subject)) this.#readPort()
    if (!this.#registry.knowsNode(subject)) {
      this.unknown++
      return
    }
    const newest = this.#newest_states.get(subject)
    if (isOlderState(version, ts, newest)) return
    if (newest === undefined) this.#newest_states.set(subject, { version, ts })
    else Object.assign(newest, { version, ts })
    this.states.set(subject, { version, ts, bytes: payload })
  }

  held(
    message: number,
    due_ms: number,
    ts: number,
    kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void {
    if (this.#known[message] !== 1 && !this.#learn(message)) return
    if (isOlder(due_ms, ts, this.holds.get(message))) return
    const payload = hasPayload(kind) && due_ms !== 0 ? Buffer.from(bytes.subarray(at, at + length)) : null
    this.holds.set(message, { due_ms, ts: Math.floor(ts), kind, number, bytes: payload })
  }

  taken(flow: number, count: number): void {
    this.takes.set(flow, (this.takes.get(flow) ?? 0) + count)
  }

  /** Values and records go; states, held values and counts stay, since only their newest counts and a later commit can carry it. */
  drop(): void {
    const { points, queued } = this
    for (let i = 0; i < points.dirtyCount; i++) queued[points.dirty[i]!] = 0
    points.clear()
    this.cascades.clear()
    this.notes.length = 0
    this.#note_bytes = 0
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

/**
 * A flow goes from lane to lane, and rings are drained one after the other: the later state wins, not the later ring. Two have
 * one version when a lane died with its state in the journal and not yet in the node's row; the next lane began after that.
 */
function isOlderState(version: number, ts: number, known: Omit<StateChange, 'bytes'> | undefined): boolean {
  if (known === undefined || version > known.version) return false
  return version < known.version || ts < known.ts
}

/**
 * Lanes hold values and the timer lets them go, each in a ring of its own and by a clock of its own. A value is let go when
 * it is due, so one that is due later than that was held afterwards.
 */
function isOlder(due_ms: number, ts: number, known: HeldChange | undefined): boolean {
  if (known === undefined) return false
  if (due_ms === 0) return known.due_ms !== 0 && known.due_ms * 1000 > ts
  return known.due_ms === 0 ? due_ms * 1000 <= known.ts : ts < known.ts
}

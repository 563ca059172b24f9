import type { Failure } from '../../core/cascade/seat.ts'
import type { Cascade } from '../../core/cascade/wave.ts'
import type { Masks } from '../../core/masks/table.ts'
import { JOURNAL, type JournalWriter } from '../../core/memory/journal/journal.ts'
import { limits } from '../../protocol/limits.ts'
import type { Codec } from '../../protocol/values/codec.ts'
import { Gauges } from '../calls/gauges.ts'
import type { Note } from './messages.ts'

type ErrorNote = Extract<Note, { type: 'error' }>

/** Errors of one node that are written at once in each second; of the others, the newest wait for `flush`. */
interface NodeErrors {
  second: number
  written: number
  readonly late: ErrorNote[]
}

/**
 * The records that a thread writes into its journal besides values: errors with their inputs, log lines, gauges, reports. Of
 * too many, only the newest are written: as many as are kept.
 */
export class LaneNotes {
  readonly #journal: JournalWriter
  readonly #codec: Codec
  readonly #masks: Masks | null
  readonly #errors = new Map<string, NodeErrors>()
  /** Nodes with errors that wait. */
  readonly #late = new Set<NodeErrors>()
  /** The newest of each gauge; written when the lane has time. */
  readonly #gauges = new Gauges<Note>()

  /** By flow and reason; written as counts when the lane has time. */
  readonly #dropped = new Map<string, { flow: string; reason: string; count: number }>()

  /** `masks`: null where no text comes from a body. */
  constructor(journal: JournalWriter, codec: Codec, masks: Masks | null) {
    this.#journal = journal
    this.#codec = codec
    this.#masks = masks
  }

  write(note: Note): void {
    if (note.type === 'gauge') {
      if (this.#gauges.set(note.node, note.name, note))
        this.dropped(note.node.slice(0, note.node.indexOf('.')), 'gauges')
      return
    }
    // Each call counts separately; all calls that end within half a second are reported together.
    if (note.type === 'dropped') return this.dropped(note.flow, note.reason, note.count)
    this.#blob(note)
  }

  dropped(flow: string, reason: string, count = 1): void {
    const key = `${flow} ${reason}`
    const seen = this.#dropped.get(key)
    if (seen === undefined) this.#dropped.set(key, { flow, reason, count })
    else seen.count += count
  }

  /** Writes the records that wait for an idle moment or for half a second: gauges, counts, the last of too many errors. The caller marks. */
  flush(ts: number): void {
    if (this.#gauges.isEmpty && this.#dropped.size === 0 && this.#late.size === 0) return
    for (const errors of this.#late) this.#writeLate(errors)
    this.#late.clear()
    for (const note of this.#gauges.take()) this.#blob(note)
    for (const drop of this.#dropped.values()) this.#blob({ type: 'dropped', ...drop, ts })
    this.#dropped.clear()
  }

  /** `cascade` is null when the error belongs to none, as that of a state that cannot be kept while its body is away. */
  error(node: string, failure: Failure, inputs: unknown, cascade: Cascade | null, ts: number, good: number): void {
    const second = Math.floor(ts / 1e6)
    let seen = this.#errors.get(node)
    if (seen === undefined) this.#errors.set(node, (seen = { second, written: 0, late: [] }))
    if (seen.second !== second) {
      this.#writeLate(seen)
      this.#late.delete(seen)
      seen.second = second
      seen.written = 0
    }
    const { code, message, stack } = failure
    const note: ErrorNote = {
      type: 'error',
      node,
      code,
      message,
      stack,
      ts,
      inputs,
      cascade_seq: cascade?.seq ?? 0,
      cascade_ts: cascade?.started_us ?? 0,
      good,
    }
    if (++seen.written <= limits.NODE_ERRORS_RECORDED_PER_S) return this.#writeError(note)
    seen.late.push(note)
    if (seen.late.length > limits.FAILED_INPUTS_KEPT) seen.late.shift()
    this.#late.add(seen)
  }

  #writeLate({ late }: NodeErrors): void {
    for (const note of late) this.#writeError(note)
    late.length = 0
  }

  #writeError(note: ErrorNote): void {
    // Before what is too long is cut.
    this.#blob({ ...note, inputs: this.#shortened(this.#masks?.deep(note.inputs) ?? note.inputs) })
  }

  #shortened(inputs: unknown): unknown {
    if (this.#codec.checkPlain(inputs) !== null) return null
    const bytes = this.#codec.encodePlain(inputs).length
    if (bytes <= limits.FAILED_INPUT_BYTES) return inputs
    return { shortened: `${bytes} bytes`, start: JSON.stringify(inputs).slice(0, 4000) }
  }

  #blob(note: Note): void {
    const bytes = this.#codec.encodePlain(this.#masks?.deep(note) ?? note)
    if (!this.#journal.hasRoom(bytes.length + 64) && !this.#journal.waitForRoom(bytes.length + 64, () => false)) return
    this.#journal.blob(JOURNAL.note, 0, note.ts, bytes, bytes.length)
  }
}

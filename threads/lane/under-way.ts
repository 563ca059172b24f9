import { closeSync, openSync, writeSync } from 'node:fs'
import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Cascade } from '../../core/cascade/wave.ts'
import { SLOT } from '../../core/memory/threads.ts'
import { limits } from '../../protocol/limits.ts'

/** An item whose body was running when an engine died, and how many engines died so, one after the other. */
export interface UnderWayItem {
  readonly flow: string
  /** Of the item that began the cascade, qualified. */
  readonly message: string
  readonly version: number
  readonly deaths: number
}

/** The data that the front passes to a lane after an engine that crashed. */
export interface UnderWayTask {
  readonly path: string
  /** By flow index: how many items were queued again; they are the first ones of its queue. */
  readonly resumed: ReadonlyMap<number, number>
  /** The suspects that earlier engines left. */
  readonly items: readonly UnderWayItem[]
  /** One word: the slot of the lane whose suspect runs; 0: none does. */
  readonly turn: SharedArrayBuffer
}

/** A record for each lane slot: JSON, then zeros. Two of the longest names fit; one that does not is not written. */
const RECORD_BYTES = 1024
export const UNDER_WAY_BYTES = RECORD_BYTES * limits.LANE_SLOTS

/** How long a lane that waits for its turn sleeps between two heartbeats. */
const TURN_LOOK_MS = 50

/**
 * Says in a file which resumed item a lane runs, before its body runs. The write is in the system's memory when it returns, so it
 * outlives the process; power loss may undo it. Two writes (some 10 us) for each cascade of a resumed item, nothing for others.
 *
 * Items that ran when an engine died are suspects in the next one, where they run one at a time, whichever lanes have them: only the
 * one that runs when that engine dies, too, has died with two. The others lose the suspicion when they end. A lane waits until
 * it has the turn, for SUSPECT_TURN_MS at most: a cascade that has taken longer is recorded as open by then, so no engine runs
 * it again or suspects it.
 */
export class UnderWay {
  readonly #task: UnderWayTask
  readonly #file: number
  readonly #at: number
  readonly #record = Buffer.alloc(RECORD_BYTES)
  readonly #slot: number
  readonly #turn: Int32Array
  readonly #beat: () => void
  #cascade: Cascade | null = null
  /** The one that has the turn. */
  #suspect: Cascade | null = null

  constructor(task: UnderWayTask, slot: number, beat: () => void) {
    this.#task = task
    this.#slot = slot
    this.#turn = new Int32Array(task.turn)
    this.#beat = beat
    this.#file = openSync(task.path, 'r+')
    this.#at = (slot - SLOT.lane) * RECORD_BYTES
  }

  /** A body of the cascade is about to run. */
  runs({ index, name, run }: FlowRun, cascade: Cascade): void {
    if (cascade === this.#cascade) return
    if (cascade.item >>> 0 >= (this.#task.resumed.get(index) ?? 0)) return
    const position = run.plan.by_message.get(cascade.message)
    if (position === undefined) return
    const message = run.plan.messages[position]!.name
    const version = cascade.root_version
    const known = this.#task.items.find(one => one.flow === name && one.message === message && one.version === version)
    const item: UnderWayItem = { flow: name, message, version, deaths: (known?.deaths ?? 0) + 1 }
    if (known !== undefined) {
      this.#takeTurn()
      this.#suspect = cascade
    }
    this.#cascade = cascade
    this.#write(JSON.stringify(item))
  }

  #takeTurn(): void {
    for (let left_ms: number = limits.SUSPECT_TURN_MS; left_ms > 0; left_ms -= TURN_LOOK_MS) {
      const holder = Atomics.compareExchange(this.#turn, 0, 0, this.#slot)
      // Cascades away from this lane have their mark in the same place: the newest one counts.
      if (holder === 0 || holder === this.#slot) return
      this.#beat()
      Atomics.wait(this.#turn, 0, holder, TURN_LOOK_MS)
    }
    Atomics.store(this.#turn, 0, this.#slot)
  }

  #leaveTurn(): void {
    this.#suspect = null
    if (Atomics.compareExchange(this.#turn, 0, this.#slot, 0) === this.#slot) Atomics.notify(this.#turn, 0)
  }

  ended(cascade: Cascade): void {
    if (cascade === this.#suspect) this.#leaveTurn()
    if (cascade !== this.#cascade) return
    this.#cascade = null
    this.#write('')
  }

  close(): void {
    this.#leaveTurn()
    closeSync(this.#file)
  }

  #write(text: string): void {
    this.#record.fill(0)
    if (Buffer.byteLength(text) <= RECORD_BYTES) this.#record.write(text)
    try {
      writeSync(this.#file, this.#record, 0, RECORD_BYTES, this.#at)
    } catch {
      // A disk that fails costs the mark, not the item.
    }
  }
}

/** At most as many as there are lane slots, whichever lanes had them. */
export function encodeUnderWay(items: readonly UnderWayItem[]): Buffer {
  const bytes = Buffer.alloc(UNDER_WAY_BYTES)
  for (const [at, item] of items.entries()) bytes.write(JSON.stringify(item), at * RECORD_BYTES, RECORD_BYTES)
  return bytes
}

/** Incomplete records are skipped. */
export function decodeUnderWay(bytes: Buffer): UnderWayItem[] {
  const items: UnderWayItem[] = []
  for (let at = 0; at < bytes.length; at += RECORD_BYTES) {
    const record = bytes.subarray(at, at + RECORD_BYTES)
    const end = record.indexOf(0)
    if (end === 0) continue
    try {
      items.push(JSON.parse(record.toString('utf8', 0, end < 0 ? record.length : end)) as UnderWayItem)
    } catch {
      // Torn by a power loss.
    }
  }
  return items
}

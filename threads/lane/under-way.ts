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

/** What the front hands a lane after an engine that did not end in order. */
export interface UnderWayTask {
  readonly path: string
  /** By flow index: how many items were queued again; they are the first ones of its queue. */
  readonly resumed: ReadonlyMap<number, number>
  /** What the engines before left. */
  readonly items: readonly UnderWayItem[]
}

/** A record for each lane slot: JSON, then zeros. Two of the longest names fit; one that does not is not written. */
const RECORD_BYTES = 1024
export const UNDER_WAY_BYTES = RECORD_BYTES * limits.LANE_SLOTS

/**
 * Says in a file which resumed item a lane runs, before its body runs. The write is in the system's memory when it returns, so it
 * outlives the process; power loss may undo it. Two writes (some 10 us) for each cascade of a resumed item, nothing for others.
 */
export class UnderWay {
  readonly #task: UnderWayTask
  readonly #file: number
  readonly #at: number
  readonly #record = Buffer.alloc(RECORD_BYTES)
  #cascade: Cascade | null = null

  constructor(task: UnderWayTask, slot: number) {
    this.#task = task
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
    this.#cascade = cascade
    this.#write(JSON.stringify(item))
  }

  ended(cascade: Cascade): void {
    if (cascade !== this.#cascade) return
    this.#cascade = null
    this.#write('')
  }

  close(): void {
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

/** Records that are not whole are left out. */
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

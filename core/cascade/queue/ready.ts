import * as atomics from '#atomics'
import { limits } from '../../../protocol/limits.ts'
import { CONTROL, type Memory } from '../../memory/region.ts'
import { SLOT, slotOf } from '../../memory/threads.ts'
import { wakeThread } from '../../memory/wait.ts'
import type { FlowTable } from '../flows.ts'

/** The set of free flows with work; every lane takes from it. The set of a lane follows at `setOf(slot)`. */
export const SHARED_SET = 0
export const READY_SETS = 1 + limits.LANE_SLOTS

/** Set of the flows that the lane in this slot owns and that got work meanwhile. */
export const setOf = (slot: number): number => slot - SLOT.lane + 1

const leafWords = (flows: number): number => Math.ceil(flows / 32)
const summaryWords = (flows: number): number => Math.ceil(leafWords(flows) / 32)
/** A cache line of words. */
const whole = (words: number): number => Math.ceil(words / 16) * 16
const setWords = (flows: number): number => whole(summaryWords(flows)) + whole(leafWords(flows))

const lowestBit = (bits: number): number => 31 - Math.clz32(bits & -bits)

/**
 * Sets of flows as bitmaps of two levels: a bit for each flow, and above it a bit for each word that may hold one. Setting a
 * bit is idempotent. A leaf bit without its summary bit is repaired by the next mark or by `repair()`. A summary bit without a
 * leaf bit costs one extra check.
 *
 * A bit is a hint to check the flow; the thread that takes the bit must check it.
 */
export class ReadySet {
  readonly #memory: Memory
  readonly #flows: FlowTable
  readonly #i32: Int32Array
  readonly #lanes: number
  readonly #summaries: number
  readonly #leaves: number
  readonly #set_words: number
  readonly #leaf_count: number
  readonly #summary_count: number

  constructor(memory: Memory, flows: FlowTable) {
    this.#memory = memory
    this.#flows = flows
    this.#i32 = memory.i32
    this.#lanes = (memory.regions.control.offset >> 2) + CONTROL.word.lane_slots
    this.#summaries = memory.regions.ready.offset >> 2
    this.#leaf_count = leafWords(flows.size)
    this.#summary_count = summaryWords(flows.size)
    this.#leaves = this.#summaries + whole(this.#summary_count)
    this.#set_words = setWords(flows.size)
    if (READY_SETS * this.#set_words * 4 > memory.regions.ready.size)
      throw new RangeError('the ready region is too small')
  }

  /** The leaf is set before its summary: a thread that sees the summary finds the leaf. */
  mark(set: number, flow: number): void {
    const at = flow >> 5
    const bit = 1 << (flow & 31)
    const leaf = this.#leaves + set * this.#set_words + at
    if ((atomics.acquire(this.#i32, leaf) & bit) === 0) atomics.or(this.#i32, leaf, bit)
    this.#markSummary(set, at)
  }

  unmark(set: number, flow: number): void {
    atomics.and(this.#i32, this.#leaves + set * this.#set_words + (flow >> 5), ~(1 << (flow & 31)))
  }

  isMarked(set: number, flow: number): boolean {
    const leaf = atomics.acquire(this.#i32, this.#leaves + set * this.#set_words + (flow >> 5))
    return (leaf & (1 << (flow & 31))) !== 0
  }

  /** False when the set is empty. True may be one empty word's summary: `take` then says -1. */
  mayHold(set: number): boolean {
    const summary = this.#summaries + set * this.#set_words
    for (let at = 0; at < this.#summary_count; at++) if (atomics.acquire(this.#i32, summary + at) !== 0) return true
    return false
  }

  /**
   * Removes and returns the first flow at or after `cursor`, going round; -1: the set is empty. With the cursor at the last
   * taken flow + 1 every marked flow comes up before one is taken twice.
   */
  take(set: number, cursor: number): number {
    const leaves = this.#leaves + set * this.#set_words
    const start = cursor < this.#flows.size ? cursor : 0
    const start_at = start >> 5
    const first = this.#takeFrom(leaves + start_at, -1 << (start & 31))
    if (first >= 0) return (start_at << 5) + first
    // whole words after the start, then round to the words before it and the rest of the start's own word
    const summary = this.#summaries + set * this.#set_words
    let index = start_at >> 5
    let mask = ((start_at & 31) === 31 ? 0 : -1 << ((start_at & 31) + 1)) | 0
    for (let step = 0; step <= this.#summary_count; step++) {
      let bits = atomics.acquire(this.#i32, summary + index) & mask
      while (bits !== 0) {
        const low = lowestBit(bits)
        bits &= bits - 1
        const at = (index << 5) + low
        const found = this.#takeFrom(leaves + at, -1)
        if (found >= 0) return (at << 5) + found
        this.#clearSummary(set, at)
      }
      mask = -1
      index = index + 1 < this.#summary_count ? index + 1 : 0
    }
    return -1
  }

  /** Marks the flow, so that a lane checks it. One notify at most, none when nobody sleeps. */
  markReady(flow: number): void {
    for (;;) {
      const owner = this.#flows.ownerOf(flow)
      if (owner === 0) {
        this.mark(SHARED_SET, flow)
        this.wakeOne(this.#flows.lastLane(flow))
        return
      }
      const slot = slotOf(owner)
      // A thread other than a lane owns a flow for a moment, and checks it when it releases it.
      if (slot < SLOT.lane) return
      this.mark(setOf(slot), flow)
      // The owner may have released it and left before the mark was set. Then the next owner is notified.
      if (this.#flows.ownerOf(flow) === owner) {
        wakeThread(this.#memory, slot)
        return
      }
    }
  }

  /** The lane in this slot may be woken from now on. */
  enterLane(slot: number): void {
    atomics.or(this.#i32, this.#lanes, 1 << (slot - SLOT.lane))
  }

  /** The lane has released every flow and will not check again, because it retired or died: its marks go to any lane. */
  leaveLane(slot: number): void {
    atomics.and(this.#i32, this.#lanes, ~(1 << (slot - SLOT.lane)))
    // All of them first: a flow that the lane still owns, since its recovery has to wait, is marked for it again.
    const marked: number[] = []
    for (let flow = this.take(setOf(slot), 0); flow >= 0; flow = this.take(setOf(slot), flow + 1)) marked.push(flow)
    for (const flow of marked) this.markReady(flow)
  }

  /** `first` when it sleeps, else any lane that does. */
  wakeOne(first: number): void {
    const lanes = atomics.acquire(this.#i32, this.#lanes)
    if (first >= SLOT.lane && (lanes & (1 << (first - SLOT.lane))) !== 0 && wakeThread(this.#memory, first)) return
    for (let rest = lanes; rest !== 0; rest &= rest - 1) {
      if (wakeThread(this.#memory, SLOT.lane + lowestBit(rest))) return
    }
  }

  /** Every lane that sleeps, for a change of plans. */
  wakeAll(): void {
    for (let rest = atomics.acquire(this.#i32, this.#lanes); rest !== 0; rest &= rest - 1) {
      wakeThread(this.#memory, SLOT.lane + lowestBit(rest))
    }
  }

  /** After a thread died: summaries follow the leaves again. Anyone may mark and take meanwhile. */
  repair(): void {
    for (let set = 0; set < READY_SETS; set++) {
      const leaves = this.#leaves + set * this.#set_words
      for (let at = 0; at < this.#leaf_count; at++) {
        if (atomics.acquire(this.#i32, leaves + at) !== 0) this.#markSummary(set, at)
      }
    }
  }

  isMarkedAnywhere(flow: number): boolean {
    for (let set = 0; set < READY_SETS; set++) if (this.isMarked(set, flow)) return true
    return false
  }

  /** Words with marks that no summary names, in words of its own. */
  audit(): string[] {
    const problems: string[] = []
    for (let set = 0; set < READY_SETS; set++) {
      for (let at = 0; at < this.#leaf_count; at++) {
        const summary = this.#i32[this.#summaries + set * this.#set_words + (at >> 5)]!
        if (this.#i32[this.#leaves + set * this.#set_words + at]! !== 0 && (summary & (1 << (at & 31))) === 0)
          problems.push(`ready set ${set}: the marks of flows ${at << 5} and up are hidden`)
      }
    }
    return problems
  }

  #markSummary(set: number, at: number): void {
    const summary = this.#summaries + set * this.#set_words + (at >> 5)
    const bit = 1 << (at & 31)
    if ((atomics.acquire(this.#i32, summary) & bit) === 0) atomics.or(this.#i32, summary, bit)
  }

  /** A mark that saw the summary still set relies on the second look here. */
  #clearSummary(set: number, at: number): void {
    atomics.and(this.#i32, this.#summaries + set * this.#set_words + (at >> 5), ~(1 << (at & 31)))
    if (atomics.acquire(this.#i32, this.#leaves + set * this.#set_words + at) !== 0) this.#markSummary(set, at)
  }

  /** Bit number, or -1 when the word holds none of `mask`. */
  #takeFrom(leaf: number, mask: number): number {
    let bits = atomics.acquire(this.#i32, leaf) & mask
    while (bits !== 0) {
      const bit = bits & -bits
      if ((atomics.and(this.#i32, leaf, ~bit) & bit) !== 0) return 31 - Math.clz32(bit)
      bits = atomics.acquire(this.#i32, leaf) & mask
    }
    return -1
  }
}

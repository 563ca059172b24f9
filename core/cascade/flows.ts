import * as atomics from '#atomics'
import { limits } from '../../protocol/limits.ts'
import { layout } from '../memory/layout.ts'
import type { Memory } from '../memory/region.ts'
import { slotOf } from '../memory/threads.ts'
import { holderOf, lockWord, unlockWord, unlockWordWithBarrier } from '../memory/wait.ts'

/**
 * Three cache lines: the first is written by publishers under the publish word, the second by the thread that has claimed
 * the flow, so that neither side's stores take the line away from the other; the third has the publish word itself, so that threads
 * that wait for it do not take away the line that its holder writes. There are two copies of positions and byte
 * counters; the low bit of the counter beside them selects the valid copy, so that one store of the counter changes them all.
 */
export const FLOW_ROW = layout(
  'FLOW_ROW',
  [
    ['appended', 'i32', 'items ever appended (wraps); this store commits an append'],
    ['tail_even', 'i32', 'where the next item goes while appended is even, 0: no segment'],
    ['tail_odd', 'i32', 'the same while appended is odd'],
    ['appended_bytes_even', 'i32', 'bytes ever appended (wraps) while appended is even'],
    ['appended_bytes_odd', 'i32', 'the same while appended is odd'],
    ['first', 'i32', 'position of the first item after the queue had no segment'],
    ['before', 'i32', 'appended as the publisher inside found it'],
    ['room', 'i32', 'where its item goes'],
    ['group', 'i32', 'GROUP of its item'],
    ['dropped', 'f64', 'items dropped because the flow stood at its hard cap'],
    ['scheduled', 'i32', 'values of the flow that are to be published later'],
    ['scheduled_bytes', 'i32', 'of these values'],
    ['publisher_line', 'bytes:8', 'fills the cache line'],
    ['owner', 'i32', 'owner word of the thread that claimed the flow, 0: free'],
    ['last_lane', 'i32', 'thread slot of the last claim, woken first'],
    ['taken', 'i32', 'items ever taken (wraps); this store commits a take'],
    ['head_even', 'i32', 'where the next take reads while taken is even, 0: at first'],
    ['head_odd', 'i32', 'the same while taken is odd'],
    ['taken_bytes_even', 'i32', 'bytes ever taken (wraps) while taken is even'],
    ['taken_bytes_odd', 'i32', 'the same while taken is odd'],
    ['inner_items', 'i32', 'waiting in mailboxes, and results that came back to the owner'],
    ['inner_bytes', 'i32', "of the values of the owner's open waves"],
    ['carry_ref', 'i32', 'arena slab with values that the next owner goes on with, 0: none'],
    ['carry_version', 'i32', 'goes up with every carry'],
    ['owner_line', 'bytes:16', 'fills the cache line'],
    ['publish', 'i32', 'owner word of the publisher inside, 0: nobody'],
    ['waiting_line', 'bytes:56', 'fills the cache line'],
  ],
  64,
)

const ROW_WORDS = FLOW_ROW.size >> 2
const { word } = FLOW_ROW
/** What the sum with the bytes of a queue still holds. */
const MOST_BYTES = 2 ** 30

/** Who owns a flow, how much waits in it, and which values one owner passes to the next. */
export class FlowTable {
  readonly #memory: Memory
  readonly #i32: Int32Array
  readonly #f64: Float64Array
  readonly #base: number
  readonly size: number

  constructor(memory: Memory) {
    this.#memory = memory
    this.#i32 = memory.i32
    this.#f64 = memory.f64
    this.#base = memory.regions.flows.offset >> 2
    this.size = memory.sizes.flows
    if (this.size * FLOW_ROW.size > memory.regions.flows.size) throw new RangeError('the flow region is too small')
  }

  /** Index of the row's first i32 word; add a `FLOW_ROW.word`. */
  row(flow: number): number {
    return this.#base + flow * ROW_WORDS
  }

  /** For a row that no thread uses yet. */
  reset(flow: number): void {
    if (!(flow >= 0 && flow < this.size)) throw new RangeError(`no flow ${flow}`)
    const row = this.row(flow)
    this.#i32.fill(0, row, row + ROW_WORDS)
  }

  /** One CAS from free. False when another thread, or this one already, owns the flow. */
  claim(flow: number, owner: number): boolean {
    const row = this.row(flow)
    if (atomics.compareExchange(this.#i32, row + word.owner, 0, owner) !== 0) return false
    this.#i32[row + word.last_lane] = slotOf(owner)
    return true
  }

  /** After it, an item that was appended while the flow was owned has its mark in the owner's own ready set. */
  release(flow: number, owner: number): void {
    const found = atomics.compareExchange(this.#i32, this.row(flow) + word.owner, owner, 0)
    if (found !== owner) throw new RangeError(`flow ${flow} is released by ${owner} and owned by ${found}`)
  }

  ownerOf(flow: number): number {
    return atomics.acquire(this.#i32, this.row(flow) + word.owner)
  }

  lastLane(flow: number): number {
    return this.#i32[this.row(flow) + word.last_lane]!
  }

  /** Spins, then waits. False when the word could not be had within `patience_ms` (its holder died and is not recovered yet). */
  lockPublish(flow: number, owner: number, patience_ms = Infinity): boolean {
    return lockWord(this.#memory, this.row(flow) + word.publish, owner, patience_ms)
  }

  tryLockPublish(flow: number, owner: number): boolean {
    return atomics.compareExchange(this.#i32, this.row(flow) + word.publish, 0, owner) === 0
  }

  unlockPublish(flow: number, owner: number): void {
    unlockWord(this.#memory, this.row(flow) + word.publish, owner)
  }

  /** The same with a full barrier, for a publisher that afterwards reads whom to notify of its append. */
  unlockPublishWithBarrier(flow: number, owner: number): void {
    unlockWordWithBarrier(this.#memory, this.row(flow) + word.publish, owner)
  }

  publisherOf(flow: number): number {
    return holderOf(atomics.load(this.#i32, this.row(flow) + word.publish))
  }

  /** Items ever taken: the number of the first that is not. By whoever owns the flow, or after its owner's death. */
  taken(flow: number): number {
    return this.#i32[this.row(flow) + word.taken]!
  }

  /** Items in the queue. `taken` is read first, so that a take in between makes the result too large, never negative. */
  queued(flow: number): number {
    const row = this.row(flow)
    const taken = atomics.acquire(this.#i32, row + word.taken)
    return (atomics.acquire(this.#i32, row + word.appended) - taken) | 0
  }

  /** Items ever appended (wraps): the count so far, see `queuedBefore`. */
  appended(flow: number): number {
    return atomics.acquire(this.#i32, this.row(flow) + word.appended)
  }

  /** By the owner: items in the queue of those that were there when `appended` was asked. */
  queuedBefore(flow: number, appended: number): number {
    return Math.max(0, (appended - this.#i32[this.row(flow) + word.taken]!) | 0)
  }

  queuedBytes(flow: number): number {
    const row = this.row(flow)
    const taken = atomics.acquire(this.#i32, row + word.taken)
    const taken_bytes = this.#i32[row + word.taken_bytes_even + (taken & 1)]!
    const appended = atomics.acquire(this.#i32, row + word.appended)
    return (this.#i32[row + word.appended_bytes_even + (appended & 1)]! - taken_bytes) | 0
  }

  /** Whether so many items, or so many bytes, wait over queue, mailboxes and children. */
  isOver(flow: number, items: number, bytes: number): boolean {
    const i32 = this.#i32
    const row = this.row(flow)
    const taken = atomics.acquire(i32, row + word.taken)
    const taken_bytes = i32[row + word.taken_bytes_even + (taken & 1)]!
    const appended = atomics.acquire(i32, row + word.appended)
    const appended_bytes = i32[row + word.appended_bytes_even + (appended & 1)]!
    return (
      ((appended - taken) | 0) + i32[row + word.inner_items]! >= items ||
      ((appended_bytes - taken_bytes) | 0) + i32[row + word.inner_bytes]! >= bytes
    )
  }

  /** Items over queue, mailboxes and children. */
  waiting(flow: number): number {
    return this.queued(flow) + this.#i32[this.row(flow) + word.inner_items]!
  }

  waitingBytes(flow: number): number {
    return this.queuedBytes(flow) + this.#i32[this.row(flow) + word.inner_bytes]!
  }

  /** By the owner: what waits inside it. */
  setInner(flow: number, items: number, bytes: number): void {
    const row = this.row(flow)
    this.#i32[row + word.inner_items] = items
    this.#i32[row + word.inner_bytes] = Math.min(bytes, MOST_BYTES)
  }

  /** By the owner: adds to, or subtracts from, its last count. */
  countInner(flow: number, change: 1 | -1): void {
    this.#i32[this.row(flow) + word.inner_items]! += change
  }

  /** How full the flow is, as a share of its bound; `limits.FLOW_WAITING_HARD_FACTOR` is the hard cap. */
  share(flow: number): number {
    const row = this.row(flow)
    return Math.max(
      this.waiting(flow) / limits.FLOW_WAITING_ITEMS,
      this.waitingBytes(flow) / limits.FLOW_WAITING_BYTES,
      this.#i32[row + word.scheduled]! / limits.SCHEDULED_VALUES,
      this.#i32[row + word.scheduled_bytes]! / limits.SCHEDULED_BYTES,
    )
  }

  /** Values of the flow that are to be published later. */
  scheduled(flow: number): number {
    return this.#i32[this.row(flow) + word.scheduled]!
  }

  /** Whether so many times its bound of values wait for their time. */
  isScheduleFull(flow: number, factor: number): boolean {
    const row = this.row(flow)
    return (
      this.#i32[row + word.scheduled]! >= factor * limits.SCHEDULED_VALUES ||
      this.#i32[row + word.scheduled_bytes]! >= factor * limits.SCHEDULED_BYTES
    )
  }

  /** Under the publish word of the flow. */
  countScheduled(flow: number, values: number, bytes: number): void {
    const row = this.row(flow)
    this.#i32[row + word.scheduled]! += values
    this.#i32[row + word.scheduled_bytes]! += bytes
  }

  /** Under the publish word of the flow, counted anew after a thread died there. */
  setScheduled(flow: number, values: number, bytes: number): void {
    const row = this.row(flow)
    this.#i32[row + word.scheduled] = values
    this.#i32[row + word.scheduled_bytes] = bytes
  }

  /** Items dropped since the engine started, at the hard cap or because no segment was free. */
  dropped(flow: number): number {
    return this.#f64[(this.row(flow) >> 1) + word.dropped]!
  }

  /** Under the publish word of the flow. */
  countDropped(flow: number): void {
    this.#f64[(this.row(flow) >> 1) + word.dropped]!++
  }

  /** Arena slab with values that go from owner to owner, 0: nothing. */
  carry(flow: number): number {
    return this.#i32[this.row(flow) + word.carry_ref]!
  }

  carryVersion(flow: number): number {
    return this.#i32[this.row(flow) + word.carry_version]!
  }

  /** By the owner; takes over the reference and returns the one it displaced, for the caller to release. */
  setCarry(flow: number, ref: number): number {
    const row = this.row(flow)
    const displaced = this.#i32[row + word.carry_ref]!
    this.#i32[row + word.carry_ref] = ref
    this.#i32[row + word.carry_version]!++
    return displaced
  }
}

import * as atomics from '#atomics'
import { limits } from '../../protocol/limits.ts'
import { ARENA_SLOT_ROW, type Arena, arenaPlace, BLOCK_ROW, SLAB_ROW, SLAB_STATE } from '../memory/arena.ts'
import { KIND } from '../memory/encoded.ts'
import {
  CASCADE_STATUS,
  JOURNAL,
  JOURNAL_HEADER,
  JOURNAL_RECORD,
  type JournalWakes,
  JournalWriter,
  journalOffset,
  recoverJournal,
  travelsByRef,
  VALUE_FLAG,
} from '../memory/journal/journal.ts'
import { MESSAGE_ROW, type MessageTable, type ReadValue, VALUE_SLOT } from '../memory/messages.ts'
import { recoverArena } from '../memory/recover/arena.ts'
import type { Interrupted } from '../memory/recover/begun.ts'
import type { Memory } from '../memory/region.ts'
import { ScheduledTable } from '../memory/scheduled.ts'
import { SLOT, slotOf } from '../memory/threads.ts'
import { recoverWord } from '../memory/wait.ts'
import { FLOW_ROW, type FlowTable } from './flows.ts'
import { DOING, INTENT_ROW, intentWord, RECORD_BIT } from './publish/intent.ts'
import type { IngressQueue } from './queue/queue.ts'
import type { ReadySet } from './queue/ready.ts'

const { word } = FLOW_ROW
const intent = INTENT_ROW.word
/** Upper bound of the bytes of a record of a cascade, or of a taken item. */
const CLOSING_BYTES = 128

/** The objects that the recovering thread works with; all are its own. */
export interface RecoverParts {
  memory: Memory
  owner: number
  arena: Arena
  flows: FlowTable
  queue: IngressQueue
  ready: ReadySet
  messages: MessageTable
  wakes: JournalWakes
  /** What the thread had begun and not ended, see `begunBy`: recorded as interrupted at the end of its last unit. */
  begun?: readonly Interrupted[]
  /** Microseconds since 1970. */
  now_us?: number
  /** Of the steady clock. */
  steady_us?: number
  /** Gives up waiting for room in the ring of the dead thread; absent: it does not wait. */
  isLate?: () => boolean
}

export interface Recovered {
  /** False: another dead thread holds a lock. Recover that one, then call again. */
  done: boolean
  /** Flows that the thread owned; they are free again. Their begun cascades ended with the thread. */
  flows: number[]
  /** Message whose publish was finished on the thread's behalf, -1: none. */
  finished: number
}

/**
 * Everything that names the dead thread is repaired and freed: its publish, its take, the flows that it owned, its ready
 * set, segments, slabs, journal. Its exit is confirmed and its slot is not entered again before this is done. Runs on the
 * front while every other thread goes on; calling it again is harmless.
 */
export function recoverThread(dead_owner: number, parts: RecoverParts): Recovered {
  const { memory, flows, queue, ready } = parts
  const slot = slotOf(dead_owner)

  const held: number[] = []
  const owned: number[] = []
  for (let flow = 0; flow < flows.size; flow++) {
    if (flows.publisherOf(flow) === dead_owner) held.push(flow)
    if (flows.ownerOf(flow) === dead_owner) owned.push(flow)
  }
  const finished = finishIntent(dead_owner, held, parts)
  if (slot < memory.sizes.rings) {
    settleScheduled(slot, held, parts)
    closeUnit(slot, owned, parts)
    // Wakes the store even when the dead thread could not.
    if (recoverJournal(memory, slot)) parts.wakes.store()
  }
  settleSegments(held, parts)
  recountScheduled(held, parts)
  if (slot === SLOT.timer) settleReleasing(slot, parts)
  // Segments that a publisher of several values had linked for the values that it did not reach.
  for (const flow of held) if (!owned.includes(flow)) queue.giveAhead(flow)
  // A flow that the thread was trimming is repaired only when its chain was swept, below.
  for (const flow of held) if (!owned.includes(flow)) recoverWord(memory, flows.row(flow) + word.publish, dead_owner)

  const freed = owned.filter(flow => freeFlow(flow, dead_owner, parts))
  if (slot >= SLOT.lane) ready.leaveLane(slot)
  queue.pool.repair()
  ready.repair()
  for (let flow = 0; flow < flows.size; flow++) {
    if (flows.queued(flow) === 0 && queue.holdsSegments(flow)) queue.cool(flow)
    // The thread may have died between an append and its mark. An extra mark costs one check.
    if (flows.queued(flow) > 0) ready.markReady(flow)
  }
  const arena = recoverArena(memory, dead_owner, parts.owner)
  ready.wakeAll()
  return { done: arena && freed.length === owned.length, flows: freed, finished }
}

/**
 * Ends the dead thread's last unit like any unit: with the consumed items, and with a record of every cascade that it had
 * begun. So a cut never contains a consumed item without a record of its cascade.
 */
function closeUnit(slot: number, owned: readonly number[], parts: RecoverParts): void {
  const { memory, flows, begun = [], now_us = 0, isLate = () => true } = parts
  if (owned.length === 0 && begun.length === 0) return
  const writer = new JournalWriter(memory, slot, parts.wakes)
  for (const one of begun) {
    if (!writer.waitForRoom(CLOSING_BYTES, isLate)) return
    const duration_us = Math.max(0, now_us - one.started_us)
    writer.cascade(
      one.flow,
      one.message,
      one.root_version,
      one.seq,
      one.started_us,
      duration_us,
      CASCADE_STATUS.interrupted,
      one.executions,
      one.errors,
      one.parent_seq,
      one.parent_ts,
    )
  }
  for (const flow of owned) {
    if (!writer.waitForRoom(CLOSING_BYTES, isLate)) return
    writer.taken(flow, flows.taken(flow))
  }
}

/** The publish or the take that the thread was in. Returns the message whose publish was finished, -1: none. */
function finishIntent(dead_owner: number, held: readonly number[], parts: RecoverParts): number {
  const { memory, messages } = parts
  const { i32, f64 } = memory
  const row = intentWord(memory, slotOf(dead_owner))
  const doing = i32[row + intent.doing]!
  const ref = i32[row + intent.ref]!
  let finished = -1
  if (doing > 0) {
    const message = doing - 1
    if (messages.version(message) === f64[(row >> 1) + intent.version]) {
      finishPublish(dead_owner, message, row, held, parts)
      finished = message
    } else {
      emptyOtherSlot(memory, message)
      // No other thread knows the slab: it dies with its thread, like one that was never handed over.
      if (ref !== 0) i32[(ref << 2) + SLAB_ROW.word.state] = SLAB_STATE.uncommitted
    }
  } else if (doing === DOING.taking) {
    const flow = i32[row + intent.flow]!
    const done = i32[parts.flows.row(flow) + word.taken]! === i32[row + intent.mark]!
    if (done) finishRelease(ref, f64[(row >> 1) + intent.version]!, parts)
  }
  const displaced = i32[row + intent.displaced]!
  // In both cases (publish done or not): the table no longer refers to it.
  if (displaced !== 0 && (doing > 0 || doing === DOING.releasing))
    finishRelease(displaced, i32[row + intent.displaced_generation]!, parts)
  i32[row + intent.doing] = DOING.nothing
  return finished
}

/** The version is published: append the missing items, and journal it if it is not yet, in the dead thread's ring. */
function finishPublish(
  dead_owner: number,
  message: number,
  row: number,
  held: readonly number[],
  parts: RecoverParts,
): void {
  const { memory, arena, flows, queue, messages } = parts
  const { i32, f64 } = memory
  const own = i32[row + intent.flow]!
  const ref = i32[row + intent.ref]!
  const record = i32[row + intent.record]!
  const queued = (record & VALUE_FLAG.queued) !== 0
  const depth = i32[row + intent.depth]!
  const root_ts = f64[(row >> 1) + intent.root_ts]!
  const parent_seq = f64[(row >> 1) + intent.parent_seq]!
  const parent_ts = f64[(row >> 1) + intent.parent_ts]!
  const value: ReadValue = { kind: KIND.none, number: 0, bytes: Buffer.alloc(0), length: 0, version: 0, ts: 0 }
  messages.read(message, value)
  const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? ref : 0
  const slot = slotOf(dead_owner)
  // The dead thread had reserved their room.
  const writer = slot < memory.sizes.rings ? new JournalWriter(memory, slot, parts.wakes) : null
  for (const flow of held) {
    const at = flows.row(flow)
    if (i32[at + word.before] !== i32[at + word.appended]) continue
    if (flow === own && !queued) continue
    const group = i32[at + word.group]!
    // Once more, if the thread died between this record and the item: the store treats both as the same.
    if (flow !== own)
      writer?.queued(flow, message, value.version, i32[at + word.appended]!, depth, group, parent_seq, parent_ts)
    queue.append(
      flow,
      message,
      depth,
      value.version,
      value.ts,
      parent_seq,
      parent_ts,
      value,
      queue_ref,
      group,
      root_ts,
      writer === null ? undefined : slot,
    )
  }
  if ((record & RECORD_BIT.none) !== 0) return
  if (isJournalled(memory, slot, i32[row + intent.mark]!, message, value.version)) return
  const counted = travelsByRef(value.length) && isBegun(memory, slot, JOURNAL.value, message, value.version, ref)
  const item = i32[flows.row(own) + word.before]!
  const group = i32[flows.row(own) + word.group]!
  if (queued) writer!.queuedValue(message, value.version, value.ts, own, item, value, ref, group)
  else if (record === 0 && parent_seq !== 0 && messages.isTraced(message))
    writer!.rootedValue(message, value.version, value.ts, root_ts, value, ref)
  else writer!.value(message, value.version, value.ts, record, value, ref)
  if (counted) arena.release(ref)
}

/** The dead thread made sure of the record's room, so it lies between `from` and the tail or was never completed. */
function isJournalled(memory: Memory, slot: number, from: number, message: number, version: number): boolean {
  const head = journalOffset(memory, slot)
  const tail = memory.i32[(head >> 2) + JOURNAL_HEADER.word.tail]
  for (let position = from; position !== tail; ) {
    const at = recordAt(memory, head, position)
    if (isRecord(memory, at, JOURNAL.value, message, version)) return true
    position = (position + ((memory.i32[at >> 2]! + 7) >> 3)) | 0
  }
  return false
}

/** The record at the tail was begun, and its reference to the slab was already taken: the generation is written after that. */
function isBegun(memory: Memory, slot: number, kind: number, message: number, version: number, ref: number): boolean {
  const head = journalOffset(memory, slot)
  const at = recordAt(memory, head, memory.i32[(head >> 2) + JOURNAL_HEADER.word.tail]!)
  const payload = (at + JOURNAL_RECORD.size) >> 2
  return (
    isRecord(memory, at, kind, message, version) &&
    memory.i32[(at >> 2) + JOURNAL_RECORD.word.ref] === ref &&
    memory.i32[payload + 1] === memory.i32[(ref << 2) + SLAB_ROW.word.generation]
  )
}

const recordAt = (memory: Memory, head: number, position: number): number =>
  head + JOURNAL_HEADER.size + ((position & ((memory.sizes.ring_bytes >> 3) - 1)) << 3)

function isRecord(memory: Memory, at: number, kind: number, message: number, version: number): boolean {
  return (
    (memory.i32[(at >> 2) + JOURNAL_RECORD.word.kind]! & 0xff) === kind &&
    memory.i32[(at >> 2) + JOURNAL_RECORD.word.subject] === message &&
    memory.f64[(at >> 3) + JOURNAL_RECORD.word.version] === version
  )
}

/** The publish did not happen: discards the filled slot. */
function emptyOtherSlot(memory: Memory, message: number): void {
  const at = (memory.regions.messages.offset + message * MESSAGE_ROW.size) >> 2
  const other =
    (memory.i32[at + MESSAGE_ROW.word.word]! & 1) === 0 ? MESSAGE_ROW.offset.second : MESSAGE_ROW.offset.first
  memory.i32[at + (other >> 2) + VALUE_SLOT.word.ref] = 0
}

/**
 * A release that the thread had announced. V8 ends a thread at function entries and loop back edges only, and there is none between
 * the operation that takes the last step of a release (a reference less, or the slab put on its way home) and the plain store
 * that ends the announcement. So a slab that is still held still has the thread's reference; one that nobody holds was left
 * by the thread on its way; another generation has gone that way.
 */
function finishRelease(ref: number, generation: number, parts: RecoverParts): void {
  const { memory, arena } = parts
  const { i32 } = memory
  if (arena.generation(ref) !== generation) return
  const at = ref << 2
  if (i32[at + SLAB_ROW.word.references]! > 0) {
    arena.release(ref)
    return
  }
  const state = i32[at + SLAB_ROW.word.state]
  if (state === SLAB_STATE.free) return
  const place = arenaPlace(memory)
  const block = (((ref << 4) - place.first) >> 16) + 1
  const home = i32[place.rows + block * (BLOCK_ROW.size >> 2) + BLOCK_ROW.word.owner]!
  i32[at + SLAB_ROW.word.state] = SLAB_STATE.returned
  const list = place.slots + home * (ARENA_SLOT_ROW.size >> 2) + ARENA_SLOT_ROW.word.returned
  for (;;) {
    const head = atomics.load(i32, list)
    i32[at + SLAB_ROW.word.next] = head
    if (atomics.compareExchange(i32, list, head, ref) === head) return
  }
}

/** Segments on their way into a chain when the thread died inside the publish word of their flow. */
function settleSegments(held: readonly number[], parts: RecoverParts): void {
  const { pool } = parts.queue
  for (let segment = 0; segment < pool.size; segment++) {
    if (!pool.isLoose(segment)) continue
    const flow = pool.flowOf(segment)
    if (!held.includes(flow)) continue
    if (parts.queue.isLinked(flow, segment)) pool.settle(segment, flow)
    else pool.give(segment)
  }
}

/**
 * A lane may have died between the append of a scheduled value and its record. The store takes a record that comes twice for one, so
 * the last value of each message that the lane scheduled in its open unit gets another one, and so does a cancel.
 */
function settleScheduled(slot: number, held: readonly number[], parts: RecoverParts): void {
  const { memory, arena, messages, steady_us = 0, isLate = () => true } = parts
  if (slot < SLOT.lane || held.length === 0) return
  const scheduled = new ScheduledTable(memory, arena)
  const open = []
  const cancelled = []
  for (let message = 0; message < memory.sizes.messages; message++) {
    if (scheduled.next(message) === 1 || !held.includes(messages.flow(message))) continue
    if (scheduled.isCancelled(message)) {
      cancelled.push(message)
      continue
    }
    const last = scheduled.last(message)
    if (last === null || isMarked(memory, slot, last.unit)) continue
    const { value, due_ms, ref } = last
    // Before anything is written over it.
    const counted = travelsByRef(value.length) && isBegun(memory, slot, JOURNAL.scheduled, message, due_ms, ref)
    open.push({ message, counted, ...last })
  }
  const writer = new JournalWriter(memory, slot, parts.wakes)
  for (const { message, counted, value, due_ms, ref, entry, first } of open) {
    if (!writer.waitForRoom(CLOSING_BYTES + limits.JOURNAL_INLINE_BYTES, isLate)) return
    writer.scheduled(message, due_ms, steady_us, entry, first, value, ref)
    if (counted) arena.release(ref)
  }
  for (const message of cancelled) {
    if (!writer.waitForRoom(CLOSING_BYTES, isLate)) return
    writer.released(message, scheduled.next(message), steady_us)
  }
}

/** Whether what `JournalWriter.unit` named is marked, or is another thread's. */
function isMarked(memory: Memory, slot: number, unit: number): boolean {
  if (Math.floor(unit / 2 ** 32) !== slot) return true
  const head = journalOffset(memory, slot) >> 2
  return ((memory.i32[head + JOURNAL_HEADER.word.marked]! - (unit | 0)) | 0) >= 0
}

/** The thread may have died between a change of a schedule and the count of its flow. The lists are whole. */
function recountScheduled(held: readonly number[], parts: RecoverParts): void {
  const { memory, arena, flows, messages } = parts
  if (held.length === 0) return
  const scheduled = new ScheduledTable(memory, arena)
  const counts = new Map(held.map(flow => [flow, { values: 0, bytes: 0 }]))
  for (let message = 0; message < memory.sizes.messages; message++) {
    // Nothing was ever scheduled.
    if (scheduled.next(message) === 1) continue
    const count = counts.get(messages.flow(message))
    if (count === undefined) continue
    for (const { ref, generation } of scheduled.takeGone(message)) finishRelease(ref, generation, parts)
    scheduled.countReplaced(message, scheduled.dropOthers(message).count)
    for (const entry of scheduled.entries(message)) {
      count.values++
      count.bytes += scheduled.bytesOf(entry)
    }
  }
  for (const [flow, { values, bytes }] of counts) flows.setScheduled(flow, values, bytes)
}

/**
 * The timer clears the version in its intent before it begins to release a value: one that is there is that of its publish. While the
 * publish is not committed the message is behind that version, since the dead timer holds the publish word.
 */
function settleReleasing(slot: number, { memory, arena, messages }: RecoverParts): void {
  const version = memory.f64[(intentWord(memory, slot) >> 1) + intent.version]!
  const scheduled = new ScheduledTable(memory, arena)
  for (let message = 0; message < memory.sizes.messages; message++)
    scheduled.settle(message, version !== 0 && messages.version(message) >= version)
}

/** False when a live or another dead publisher holds the flow for too long. */
function freeFlow(flow: number, dead_owner: number, parts: RecoverParts): boolean {
  const { memory, flows, queue, ready } = parts
  const row = flows.row(flow)
  if (flows.publisherOf(flow) !== dead_owner && !flows.lockPublish(flow, parts.owner, limits.RECOVER_PATIENCE_MS))
    return false
  // Nobody appends and nobody takes: the chain does not change.
  queue.sweep(flow)
  flows.setInner(flow, 0, 0)
  if (!recoverWord(memory, row + word.publish, dead_owner)) flows.unlockPublish(flow, parts.owner)
  atomics.compareExchange(memory.i32, row + word.owner, dead_owner, 0)
  if (flows.queued(flow) > 0) ready.markReady(flow)
  return true
}

import {
  ARENA_SLOT_ROW,
  arenaPlace,
  BLOCK_BYTES,
  BLOCK_KIND,
  BLOCK_ROW,
  SLAB_BYTES,
  SLAB_ROW,
  SLAB_STATE,
} from '../memory/arena.ts'
import { NODE_ROW } from '../memory/counters.ts'
import { HELD_ROW } from '../memory/held.ts'
import { JOURNAL, JOURNAL_HEADER, JOURNAL_RECORD, journalOffset } from '../memory/journal/journal.ts'
import { MESSAGE_ROW, VALUE_SLOT } from '../memory/messages.ts'
import type { Memory } from '../memory/region.ts'
import { slabsOfScheduled } from '../memory/scheduled.ts'
import { FLOW_ROW, FlowTable } from './flows.ts'
import { QUEUE_ITEM, unitsAt } from './queue/item.ts'
import { IngressQueue } from './queue/queue.ts'
import { ReadySet } from './queue/ready.ts'

export interface Audit {
  /** Inconsistencies as sentences; empty when there are none. */
  problems: string[]
  /** Items that wait in queues. */
  items: number
  /** Segments in chains, and the free ones. */
  segments: { held: number; free: number }
  /** Slabs with holders, and those without. */
  slabs: { held: number; free: number }
}

const { word } = FLOW_ROW

/**
 * Accounts for every segment and every slab: each segment is free or in one chain, each slab has as many references as places
 * that name it, counters agree with the actual counts, and every free flow with work is marked. Scans everything, which takes
 * milliseconds; for a memory in which no thread is inside a publish, a take or a release.
 */
export function auditMemory(memory: Memory): Audit {
  const audit: Audit = { problems: [], items: 0, segments: { held: 0, free: 0 }, slabs: { held: 0, free: 0 } }
  const references = new Map<number, number>()
  const refer = (ref: number): void => {
    if (ref !== 0) references.set(ref, (references.get(ref) ?? 0) + 1)
  }
  auditQueues(memory, audit, refer)
  referFromTables(memory, refer)
  for (let slot = 0; slot < memory.sizes.rings; slot++) referFromJournal(memory, slot, refer)
  auditSlabs(memory, audit, references)
  return audit
}

function auditQueues(memory: Memory, audit: Audit, refer: (ref: number) => void): void {
  const { i32 } = memory
  const flows = new FlowTable(memory)
  const ready = new ReadySet(memory, flows)
  const queue = new IngressQueue({ memory, owner: 0, arena: null as never, flows })
  const holders = new Map<number, number>()
  const wrong = (flow: number, what: string): number => audit.problems.push(`flow ${flow}: ${what}`)
  for (let flow = 0; flow < flows.size; flow++) {
    const row = flows.row(flow)
    if (flows.publisherOf(flow) !== 0) wrong(flow, `its publish word is held by ${flows.publisherOf(flow)}`)
    let items = 0
    let bytes = 0
    for (const position of queue.positions(flow)) {
      const at = (queue.pool.start >> 2) + (position << 1)
      const ref = i32[at + QUEUE_ITEM.word.ref]!
      items++
      bytes += (unitsAt(i32, at) << 3) + (ref !== 0 ? i32[at + QUEUE_ITEM.word.length]! : 0)
      refer(ref)
    }
    audit.items += items
    if (items !== flows.queued(flow)) wrong(flow, `${items} items in the chain, ${flows.queued(flow)} counted`)
    if (bytes !== flows.queuedBytes(flow))
      wrong(flow, `${bytes} bytes in the chain, ${flows.queuedBytes(flow)} counted`)
    for (const segment of queue.segments(flow)) {
      if (holders.has(segment)) wrong(flow, `shares segment ${segment} with flow ${holders.get(segment)}`)
      if (queue.pool.flowOf(segment) !== flow) wrong(flow, `uses segment ${segment} of ${queue.pool.flowOf(segment)}`)
      holders.set(segment, flow)
    }
    if (i32[row + word.owner] === 0 && items > 0 && !ready.isMarkedAnywhere(flow)) wrong(flow, 'has work and no mark')
  }
  for (let segment = 0; segment < queue.pool.size; segment++) {
    const flow = queue.pool.flowOf(segment)
    if (flow < 0) {
      audit.segments.free++
      if (!queue.pool.isOffered(segment)) audit.problems.push(`segment ${segment}: free and not offered`)
    } else {
      audit.segments.held++
      if (queue.pool.isLoose(segment)) audit.problems.push(`segment ${segment}: on its way to flow ${flow}`)
      if (!holders.has(segment)) audit.problems.push(`segment ${segment}: lost by flow ${flow}`)
    }
  }
  audit.problems.push(...ready.audit())
}

function referFromTables(memory: Memory, refer: (ref: number) => void): void {
  const { i32, regions, sizes } = memory
  const slots = (at: number): void => {
    refer(i32[(at >> 2) + VALUE_SLOT.word.ref]!)
  }
  for (let message = 0; message < sizes.messages; message++) {
    const row = regions.messages.offset + message * MESSAGE_ROW.size
    slots(row + MESSAGE_ROW.offset.first)
    slots(row + MESSAGE_ROW.offset.second)
    const held = regions.held.offset + message * HELD_ROW.size
    slots(held + HELD_ROW.offset.first)
    slots(held + HELD_ROW.offset.second)
    for (const ref of slabsOfScheduled(memory, message)) refer(ref)
  }
  for (let flow = 0; flow < sizes.flows; flow++)
    refer(i32[((regions.flows.offset + flow * FLOW_ROW.size) >> 2) + word.carry_ref]!)
  for (let node = 0; node < sizes.nodes; node++)
    refer(i32[((regions.nodes.offset + node * NODE_ROW.size) >> 2) + NODE_ROW.word.state_ref]!)
}

/** Records that the store has not read yet hold the slabs of long values. */
function referFromJournal(memory: Memory, slot: number, refer: (ref: number) => void): void {
  const { i32 } = memory
  const head = journalOffset(memory, slot)
  const tail = i32[(head >> 2) + JOURNAL_HEADER.word.tail]
  const mask = (memory.sizes.ring_bytes >> 3) - 1
  for (let position = i32[(head >> 2) + JOURNAL_HEADER.word.cursor]!; position !== tail; ) {
    const at = (head + JOURNAL_HEADER.size + ((position & mask) << 3)) >> 2
    const kind = i32[at + JOURNAL_RECORD.word.kind]! & 0xff
    if (kind === JOURNAL.value || kind === JOURNAL.held || kind === JOURNAL.scheduled)
      refer(i32[at + JOURNAL_RECORD.word.ref]!)
    position = (position + ((i32[at]! + 7) >> 3)) | 0
  }
}

function auditSlabs(memory: Memory, audit: Audit, references: Map<number, number>): void {
  const { i32 } = memory
  const place = arenaPlace(memory)
  const wrong = (ref: number, what: string): number => audit.problems.push(`slab ${ref}: ${what}`)
  const onTheWay = returnedSlabs(memory)
  for (let block = 1; block <= place.blocks; block++) {
    const row = place.rows + block * (BLOCK_ROW.size >> 2)
    if (i32[row + BLOCK_ROW.word.owner] === 0) continue
    const kind = i32[row + BLOCK_ROW.word.kind]!
    if (kind === BLOCK_KIND.free || kind === BLOCK_KIND.inside_run) continue
    const isRun = kind === BLOCK_KIND.run
    const count = isRun ? 1 : i32[row + BLOCK_ROW.word.carved]!
    const listed = isRun ? new Set<number>() : freeSlabs(memory, i32[row + BLOCK_ROW.word.free]!)
    for (let slab = 0; slab < count; slab++) {
      const ref = (place.first + (block - 1) * BLOCK_BYTES + (isRun ? 0 : slab * SLAB_BYTES[kind - 1]!)) >> 4
      const held = i32[(ref << 2) + SLAB_ROW.word.references]!
      const named = references.get(ref) ?? 0
      references.delete(ref)
      if (held > 0) audit.slabs.held++
      else audit.slabs.free++
      if (held !== named) wrong(ref, `${held} references, named in ${named} places`)
      const state = i32[(ref << 2) + SLAB_ROW.word.state]
      if (held > 0 && state !== SLAB_STATE.committed) wrong(ref, `held in state ${state}`)
      if (held > 0 && listed.has(ref)) wrong(ref, 'held and on the free list')
      if (held === 0 && !listed.has(ref) && !onTheWay.has(ref)) wrong(ref, `free, in state ${state}, and on no list`)
    }
  }
  for (const ref of references.keys()) wrong(ref, 'named and not in the arena')
}

function freeSlabs(memory: Memory, first: number): Set<number> {
  const found = new Set<number>()
  for (let ref = first; ref !== 0 && !found.has(ref); ref = memory.i32[(ref << 2) + SLAB_ROW.word.next]!) found.add(ref)
  return found
}

/** Slabs that other threads returned and their owners have not collected yet. */
function returnedSlabs(memory: Memory): Set<number> {
  const found = new Set<number>()
  const { slots } = arenaPlace(memory)
  for (let slot = 0; slot < memory.sizes.threads; slot++) {
    const list = slots + slot * (ARENA_SLOT_ROW.size >> 2) + ARENA_SLOT_ROW.word.returned
    for (const ref of freeSlabs(memory, memory.i32[list]!)) found.add(ref)
  }
  return found
}

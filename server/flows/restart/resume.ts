import { GROUP } from '../../../core/cascade/queue/item.ts'
import type { ReadValue } from '../../../core/memory/messages.ts'
import { limits } from '../../../protocol/limits.ts'
import { newEncoded } from '../../../protocol/values/codec.ts'
import { KIND } from '../../../protocol/values/encoded.ts'
import { type Carried, isFollowed, NO_VALUE, writeCarry } from '../../../threads/lane/carry.ts'
import type { FrontMemory } from '../../lanes/front-memory.ts'
import type { StoredWaiting } from '../../store/front/replies.ts'
import type { ResumedFlow } from '../../store/front/requests.ts'
import type { LiveFlow } from '../flow.ts'
import type { MessageMap } from '../message-map.ts'
import { fill } from './restore.ts'

/** What a start did not queue again, of a flow. */
export interface NotResumed {
  readonly flow: string
  readonly reason: 'on_restart' | 'value_lost' | 'message_gone' | 'queue_full' | 'crashed_engine'
  readonly count: number
  /** The first item of those, of `crashed_engine`. */
  readonly item?: { readonly message: string; readonly version: number }
}

interface Parts {
  readonly front: FrontMemory
  readonly map: MessageMap
  find(flow: string): LiveFlow | undefined
  /** Every flow that there is, with its plan. */
  readonly live: Iterable<LiveFlow>
  /** Engines have died while it ran: it is not to run again. */
  hasCrashed(flow: string, message: string, version: number): boolean
}

/**
 * Queues again what each flow had not consumed when the engine ended, in its order and before anything new. Runs before any
 * other thread is there, after the latest values are back. Answers what the store is to know, and what was dropped.
 */
export function resume(
  waiting: readonly StoredWaiting[],
  parts: Parts,
): { flows: ResumedFlow[]; dropped: NotResumed[] } {
  const flows: ResumedFlow[] = []
  const dropped: NotResumed[] = []
  const standing = new Map<string, StoredWaiting['standing']>()
  for (const stored of waiting) {
    const live = parts.find(stored.flow)
    if (live === undefined) continue
    const missing = new Map<NotResumed['reason'], number>()
    const count = (reason: NotResumed['reason'], more: number): void => {
      if (more > 0) missing.set(reason, (missing.get(reason) ?? 0) + more)
    }
    if (live.document.on_restart === 'latest') {
      flows.push(empty(live.index))
      count('on_restart', stored.items.length + stored.lost)
    } else {
      const items = withoutCrashed(stored, parts, dropped)
      flows.push(queueAgain({ ...stored, items }, live.index, parts, count))
      standing.set(stored.flow, stored.standing)
      count('value_lost', stored.lost)
    }
    for (const [reason, more] of missing) dropped.push({ flow: live.name, reason, count: more })
    live.resumed = flows.at(-1)!.messages.length
    live.not_run = dropped.reduce((sum, one) => sum + (one.flow === live.name ? one.count : 0), 0)
  }
  for (const live of parts.live) writeStanding(live, standing.get(live.name) ?? [], parts)
  return { flows, dropped }
}

/** Without the items that engines have died of, and what began with them. */
function withoutCrashed(
  { flow, items }: StoredWaiting,
  { hasCrashed }: Parts,
  dropped: NotResumed[],
): StoredWaiting['items'] {
  let end = 0
  return items.filter((item, at) => {
    if (at < end) return false
    const { message, version } = item
    if (!hasCrashed(flow, message, version)) return true
    end = at + 1
    while (end < items.length && (items[end]!.group & GROUP.joins) !== 0) end++
    dropped.push({ flow, reason: 'crashed_engine', count: end - at, item: { message, version } })
    return false
  })
}

const empty = (flow: number): ResumedFlow => ({
  flow,
  messages: new Int32Array(0),
  versions: new Float64Array(0),
  places: new Int32Array(0),
  parent_seqs: new Float64Array(0),
  parent_times: new Float64Array(0),
})

function queueAgain(
  stored: StoredWaiting,
  flow: number,
  { front, map }: Parts,
  count: (reason: NotResumed['reason'], more: number) => void,
): ResumedFlow {
  const { flows, queue, arena, memory, owner } = front
  const encoded = newEncoded()
  const messages: number[] = []
  const versions: number[] = []
  const places: number[] = []
  const parent_seqs: number[] = []
  const parent_times: number[] = []
  flows.lockPublish(flow, owner)
  for (const item of stored.items) {
    const message = map.get(item.message)
    if (message === undefined) {
      count('message_gone', 1)
      continue
    }
    fill(encoded, item)
    let ref = 0
    if (encoded.length > limits.QUEUE_INLINE_BYTES) {
      ref = arena.allocate(encoded.length)
      if (ref !== 0) {
        encoded.bytes.copy(memory.bytes, arena.offset(ref), 0, encoded.length)
        arena.commit(ref)
      }
    }
    const isRoom =
      (ref !== 0 || encoded.length <= limits.QUEUE_INLINE_BYTES) &&
      queue.append(
        flow,
        message.index,
        item.depth,
        item.version,
        item.ts,
        item.parent_seq,
        item.parent_ts,
        encoded,
        ref,
        item.group,
      )
    if (!isRoom) {
      if (ref !== 0) arena.release(ref)
      count('queue_full', 1)
      continue
    }
    messages.push(message.index)
    versions.push(item.version)
    places.push((item.depth << 4) | item.group)
    parent_seqs.push(item.parent_seq)
    parent_times.push(item.parent_ts)
  }
  flows.unlockPublish(flow, owner)
  if (flows.queued(flow) > 0) front.ready.markReady(flow)
  return {
    flow,
    messages: Int32Array.from(messages),
    versions: Float64Array.from(versions),
    places: Int32Array.from(places),
    parent_seqs: Float64Array.from(parent_seqs),
    parent_times: Float64Array.from(parent_times),
  }
}

/**
 * What the lane that owned the flow would have left to the next one: the values that its first cascade reads. Of messages that wait
 * the latest value is ahead of that; of the others it will be, when they are published more than once before the flow's first turn.
 */
function writeStanding(live: LiveFlow, standing: StoredWaiting['standing'], { front, map }: Parts): void {
  const followed = live.plan.messages.filter(isFollowed)
  // What waits of a single message is all that its flow reads.
  if (followed.length < 2 && standing.length === 0) return
  const before = new Map(standing.map(one => [map.get(one.message)?.index, one]))
  const carried: Carried[] = []
  const encoded: ReadValue = { ...newEncoded(), version: 0, ts: 0 }
  for (const { index, dtype } of followed) {
    const stored = before.get(index)
    const known = stored?.dtype ?? dtype
    if (stored !== undefined) fill(encoded, stored)
    else if (!front.messages.read(index, encoded)) encoded.kind = KIND.none
    const { kind, number, bytes, length } = encoded
    if (kind === KIND.none) carried.push([index, known, NO_VALUE, null])
    else if (kind === KIND.json) carried.push([index, known, kind, Buffer.from(bytes.subarray(0, length))])
    else carried.push([index, known, KIND.none, front.codec.decode(kind, number, bytes, 0, length)])
  }
  if (standing.length === 0 && carried.every(([, , kind]) => kind === NO_VALUE)) return
  const { memory, arena, flows, codec } = front
  writeCarry({ memory, arena, flows, codec }, live.index, carried)
}

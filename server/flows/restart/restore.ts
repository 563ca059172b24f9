import { sinceOf } from '../../../core/flow/plan.ts'
import { limits } from '../../../protocol/limits.ts'
import { type Codec, newEncoded } from '../../../protocol/values/codec.ts'
import type { EncodedValue, Kind } from '../../../protocol/values/encoded.ts'
import type { KeptState } from '../../../threads/lane/kept-state.ts'
import type { ToTimer } from '../../../threads/timer/messages.ts'
import type { FrontMemory } from '../../lanes/front-memory.ts'
import type { Loaded } from '../../store/front/replies.ts'
import type { MessageMap } from '../message-map.ts'
import type { Names } from '../names.ts'

/**
 * Brings back what the store has: latest values with their versions, node states, held and scheduled values. Nobody is woken. Runs before
 * any other thread is there. Answers the timers that were running.
 * `lost`: a scheduled value of the message found no memory.
 */
export function restore(
  loaded: Loaded,
  front: FrontMemory,
  map: MessageMap,
  names: Names,
  lost: (message: string) => void,
): ToTimer[] {
  const encoded = newEncoded()
  for (const stored of loaded.values) {
    const message = map.get(stored.name)
    if (message === undefined) continue
    fill(encoded, stored)
    front.publisher.seed(message.route, encoded, stored.ts, stored.version)
  }
  for (const { node, bytes } of loaded.states) {
    const index = names.findNode(node)
    if (index >= 0) front.states.write(index, Buffer.from(bytes))
  }
  const timers: ToTimer[] = []
  for (const stored of loaded.held) {
    const message = map.get(stored.name)
    if (message === undefined) continue
    fill(encoded, stored)
    let ref = 0
    if (encoded.length > limits.SLOT_INLINE_BYTES) {
      ref = front.arena.allocate(encoded.length)
      if (ref === 0) continue
      encoded.bytes.copy(front.memory.bytes, front.arena.offset(ref), 0, encoded.length)
    }
    // What is left of its interval by a clock that may have been set since: never more than there was when it was held.
    const due_ms = Math.min(
      stored.due_ms,
      front.clock.steady_us() / 1000 + Math.max(0, stored.due_ms - stored.ts / 1000),
    )
    front.held.hold(message.index, due_ms, encoded, ref)
    timers.push({ type: 'held', message: message.index, due_ms })
  }
  for (const stored of loaded.scheduled) {
    const message = map.get(stored.name)
    if (message === undefined) continue
    fill(encoded, stored)
    const entry = front.scheduled.prepare(encoded)
    if (entry === 0) {
      lost(stored.name)
      continue
    }
    const { index } = message
    // As above, and in order whatever the clocks say.
    const now_ms = front.clock.steady_us() / 1000
    const own_ms = Math.min(stored.due_ms, now_ms + Math.max(0, stored.due_ms - stored.ts / 1000))
    const due_ms = Math.max(own_ms, front.scheduled.lastDue(index))
    const { flow } = message.route
    front.flows.lockPublish(flow, front.owner)
    const isFirst = front.scheduled.append(index, entry, due_ms, 0, stored.entry)
    front.flows.countScheduled(flow, 1, front.scheduled.bytesOf(entry))
    front.flows.unlockPublish(flow, front.owner)
    if (isFirst) timers.push({ type: 'scheduled', message: index, due_ms })
  }
  return timers
}

/** With which version of its flow each node began that has a state, by qualified name: its state is under the key of that one. */
export function sinceOfStates(states: Loaded['states'], codec: Codec): Map<string, number> {
  const since = new Map<string, number>()
  for (const { node, bytes } of states) {
    const { k } = codec.decodePlain(Buffer.from(bytes)) as KeptState
    since.set(node, sinceOf(k))
  }
  return since
}

export function fill(encoded: EncodedValue, stored: { kind: number; number: number; bytes: Uint8Array }): void {
  encoded.kind = stored.kind as Kind
  encoded.number = stored.number
  encoded.bytes = Buffer.from(stored.bytes)
  encoded.length = stored.bytes.length === 0 && isDouble(stored.kind) ? 8 : stored.bytes.length
}

const isDouble = (kind: number): boolean => kind >= 2 && kind <= 4

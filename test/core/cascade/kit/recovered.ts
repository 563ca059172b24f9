import assert from 'node:assert/strict'
import { auditMemory } from '../../../../core/cascade/audit.ts'
import { GROUP } from '../../../../core/cascade/queue/item.ts'
import { recoverThread } from '../../../../core/cascade/recover.ts'
import type { Memory } from '../../../../core/memory/region.ts'
import { SLOT, ThreadTable } from '../../../../core/memory/threads.ts'
import { emptyItem, Station, told } from './station.ts'

/** What the front does when a thread's exit is confirmed. Doing it twice changes nothing. */
export function recoverAfterDeath(memory: Memory, slot: number): Station {
  const front = new Station(memory, SLOT.front)
  const dead = new ThreadTable(memory).markDead(slot)
  assert.ok(recoverThread(dead, front).done)
  assert.ok(recoverThread(dead, front).done)
  return front
}

/** Every segment and every slab is accounted for, counters agree, no work is without a mark. */
export const assertSound = (memory: Memory): void => assert.deepEqual(auditMemory(memory).problems, [])

/** Everything that waits in the flow, as `message@version=value`. */
export function takeAll(lane: Station, flow: number): string[] {
  assert.ok(lane.flows.claim(flow, lane.owner))
  const items: string[] = []
  const item = emptyItem()
  while (lane.queue.take(flow, item)) items.push(`${item.message}@${item.version}=${told(item.value)}`)
  lane.flows.release(flow, lane.owner)
  return items
}

/** The same, by the cascades that it starts: what one emission published for the flow is taken together. */
export function takeCascades(lane: Station, flow: number): string[][] {
  assert.ok(lane.flows.claim(flow, lane.owner))
  const cascades: string[][] = []
  const item = emptyItem()
  while (lane.queue.take(flow, item)) {
    const cascade = [`${item.message}@${item.version}=${told(item.value)}`]
    while ((item.group & GROUP.goes_on) !== 0 && lane.queue.takeJoined(flow, item))
      cascade.push(`${item.message}@${item.version}=${told(item.value)}`)
    cascades.push(cascade)
  }
  lane.flows.release(flow, lane.owner)
  return cascades
}

import { setTimeout as sleep } from 'node:timers/promises'
import { takeHeld } from '../../../core/cascade/release-held.ts'
import { dropScheduled } from '../../../core/cascade/schedule/release.ts'
import { JOURNAL } from '../../../core/memory/journal/journal.ts'
import { firstStateVersion } from '../../../core/memory/states.ts'
import { newEncoded } from '../../../protocol/values/codec.ts'
import { KIND } from '../../../protocol/values/encoded.ts'
import type { FrontMemory } from '../../lanes/front-memory.ts'

/** Generously, of a record without bytes. */
const RECORD_BYTES = 64
const LOOK_MS = 2
const NOTHING = Buffer.alloc(0)

/**
 * The store forgets the states of nodes that a save or a deletion ended. Lanes may be late with a state that such a node wrote:
 * it is older than this, whenever it comes. `since`: the version from which a node of that name is another one.
 */
export async function buryStates(front: FrontMemory, nodes: readonly number[], since: number): Promise<void> {
  const { journal } = front
  while (!journal.hasRoom(nodes.length * RECORD_BYTES)) await sleep(LOOK_MS)
  const ts = front.clock.now_us()
  for (const node of nodes) journal.blob(JOURNAL.state, node, ts, NOTHING, 0, firstStateVersion(since) - 1)
  journal.mark()
}

/** The message has no value until the next publish, which has the version after the last value's. */
export function clearMessage(front: FrontMemory, message: number, flow: number): void {
  const read = { ...newEncoded(), version: 0, ts: 0 }
  if (!front.messages.read(message, read) || read.kind === KIND.none) return
  const nothing = { ...newEncoded(), kind: KIND.none, length: 0 }
  front.publisher.seed(
    { message, flow, queued: false, foreign: [], downstream: [] },
    nothing,
    front.clock.now_us(),
    read.version,
  )
}

/** What the node of a port had scheduled, which is gone. How many values. */
export const dropTimed = (front: FrontMemory, message: number, flow: number): number =>
  dropScheduled(front, flow, message)

/** What a port held that is gone. True when there was something. */
export function dropHeld(front: FrontMemory, message: number, flow: number): boolean {
  return takeHeld(front, flow, message, newEncoded(), Number.POSITIVE_INFINITY)
}

import type { EventType } from '../../../protocol/nouns/event.ts'
import type { PurgedFlow } from '../../../protocol/nouns/flow.ts'
import type { FrontMemory } from '../../lanes/front-memory.ts'
import type { Catalog } from '../catalog.ts'

export interface PurgeParts {
  front: FrontMemory
  catalog: Catalog
  /** Asks every lane; each answers how much it dropped, or null when it does not own the flow. Returns how many are asked. */
  purgeOnLanes(flow: number, answers: (count: number | null) => void): number
  dropped(flow: string, reason: string, count: number): void
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
}

/** While lanes answer, the flow may become free; a lane may be busy for long. */
const LOOK_MS = 20

/**
 * Drops what waits in a flow: its queue, and the executions in its mailboxes. What runs goes on. A flow that no lane owns has
 * nothing but its queue, which the front empties; else its lane does both, between two turns. A flow changes its owner at any
 * time, so both are tried until one of them has done it.
 */
export async function purge(parts: PurgeParts, name: string, author: string): Promise<PurgedFlow> {
  const { front, catalog } = parts
  const flow = catalog.existing(name)
  let dropped = 0
  const drop = (count: number): void => {
    dropped += count
    if (count > 0) parts.dropped(flow.name, 'purged', count)
  }
  for (let done = false; !done && catalog.find(flow.name) === flow; ) {
    const emptied = front.emptyFlow(flow.index)
    done = emptied >= 0 || (await onItsLane(parts, flow.index, drop))
    if (emptied < 0) continue
    drop(emptied)
    front.journal.mark()
    // Nobody was told of what came while the front had the flow.
    if (flow.enabled && front.queue.length(flow.index) > 0) front.ready.markReady(flow.index)
  }
  // A lane that has just let go of the flow may have answered.
  await new Promise(setImmediate)
  parts.announce('flow_purged', flow.name, { by: author, dropped })
  return { name: flow.name, dropped }
}

/** True when the flow's lane has done it; false: no lane owns it any more. What answers later is counted all the same. */
function onItsLane({ front, purgeOnLanes }: PurgeParts, flow: number, drop: (count: number) => void): Promise<boolean> {
  return new Promise(resolve => {
    const look = setInterval(() => {
      if (front.flows.ownerOf(flow) === 0) end(false)
    }, LOOK_MS)
    const end = (done: boolean): void => {
      clearInterval(look)
      resolve(done)
    }
    let left = purgeOnLanes(flow, count => {
      if (count !== null) {
        drop(count)
        end(true)
      } else if (--left === 0) end(false)
    })
    if (left === 0) end(false)
  })
}

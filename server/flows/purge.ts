import type { EventType } from '../../protocol/nouns/event.ts'
import type { PurgedFlow } from '../../protocol/nouns/flow.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { Catalog } from './catalog.ts'

export interface PurgeParts {
  front: FrontMemory
  catalog: Catalog
  /** By the lane that owns the flow; null: no answer. */
  purgeOnLane(flow: number): Promise<number | null>
  dropped(flow: string, reason: string, count: number): void
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
}

/**
 * Drops what waits in a flow: its queue, and the executions in its mailboxes. What runs goes on. A flow that no lane owns has
 * nothing but its queue, which the front empties; else its lane does both, between two turns. A flow changes its owner at any
 * time, so both are tried until one of them has done it.
 */
export async function purge(parts: PurgeParts, name: string, author: string): Promise<PurgedFlow> {
  const { front, catalog } = parts
  const flow = catalog.existing(name)
  let count: number | null = null
  while (count === null && catalog.find(flow.name) === flow) {
    const emptied = front.emptyFlow(flow.index)
    count = emptied >= 0 ? emptied : await parts.purgeOnLane(flow.index)
    if (emptied < 0) continue
    front.journal.mark()
    // Nobody was told of what came while the front had the flow.
    if (flow.enabled && front.queue.length(flow.index) > 0) front.ready.markReady(flow.index)
  }
  const dropped = count ?? 0
  if (dropped > 0) parts.dropped(flow.name, 'purged', dropped)
  parts.announce('flow_purged', flow.name, { by: author, dropped })
  return { name: flow.name, dropped }
}

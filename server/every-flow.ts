import type { SeenFires } from '../threads/timer/messages.ts'
import type { LiveFlows } from './flows/flows.ts'
import type { Measured } from './health/latencies.ts'
import type { OpenedStore } from './store/front/open-store.ts'

export const seenByNode = (rows: OpenedStore['loaded']['fires_seen']): Map<string, SeenFires> =>
  new Map(rows.map(({ node, schedule, at }) => [node, { schedule, at_us: at }]))

/** Of each flow what of its bound is taken. */
export function* shares(front: OpenedStore['front'], flows: LiveFlows): Iterable<number> {
  for (const { index } of flows.all()) yield front.flows.share(index)
}

/** The nodes and wires of all flows. */
export function* measured(flows: LiveFlows): Iterable<Measured> {
  for (const flow of flows.all()) {
    for (const { index, inputs } of flow.plan.nodes) {
      yield { node: index }
      for (const { wire } of inputs) if (wire >= 0) yield { wire }
    }
  }
}

import { issuesOf } from '../../core/flow/issues.ts'
import type { Steps } from '../../core/steps.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { Store } from '../store/front/client.ts'
import type { Catalog } from './catalog.ts'
import { DAMAGE_SHOWN } from './show.ts'

export interface FlowTrouble {
  /** Issues that are not advice. */
  issues: number
  /** Nodes that report themselves down. */
  down: number
}

interface Wired {
  readonly revision: number
  readonly document: NormalDocument
  readonly issues: number
}

/** How much is wrong with each flow: as many as `Show.issues` tells in words, for all flows once a second. */
export class IssueCounts {
  readonly #catalog: Catalog
  readonly #health: NodeHealth
  readonly #store: Pick<Store, 'damage' | 'health'>
  /** By the flow's name; good until a flow changes. */
  #wired = new Map<string, Wired>()

  constructor(parts: { catalog: Catalog; health: NodeHealth; store: Pick<Store, 'damage' | 'health'> }) {
    this.#catalog = parts.catalog
    this.#health = parts.health
    this.#store = parts.store
  }

  *all(): Steps<ReadonlyMap<string, FlowTrouble>> {
    const troubled = yield* this.#nodes()
    const damaged = this.#damaged()
    const unkept = this.#store.health.fault === null ? 0 : 1
    const wired = new Map<string, Wired>()
    const counts = new Map<string, FlowTrouble>()
    for (const { name, document } of this.#catalog.all()) {
      const wiring = this.#wiring(name, document)
      wired.set(name, wiring)
      let issues = wiring.issues + unkept + this.#health.droppedKinds(name)
      issues += Math.min(DAMAGE_SHOWN, (damaged.get(name) ?? 0) + (damaged.get(null) ?? 0))
      let down = 0
      const nodes = troubled.get(name)
      if (nodes !== undefined)
        for (const { id } of document.nodes) {
          const trouble = nodes.get(id)
          if (trouble === undefined) continue
          issues += trouble.issues
          down += trouble.down
        }
      counts.set(name, { issues, down })
      yield
    }
    this.#wired = wired
    return counts
  }

  /** By flow and id of the node. */
  *#nodes(): Steps<Map<string, Map<string, FlowTrouble>>> {
    const by_flow = new Map<string, Map<string, FlowTrouble>>()
    for (const { node, issues, isDown } of this.#health.troubledNodes()) {
      const dot = node.indexOf('.')
      const flow = node.slice(0, dot)
      let nodes = by_flow.get(flow)
      if (nodes === undefined) by_flow.set(flow, (nodes = new Map()))
      nodes.set(node.slice(dot + 1), { issues, down: isDown ? 1 : 0 })
      yield
    }
    return by_flow
  }

  /** Under null those that belong to no flow, of which each is told. */
  #damaged(): Map<string | null, number> {
    const counts = new Map<string | null, number>()
    for (const { flow } of this.#store.damage) counts.set(flow, (counts.get(flow) ?? 0) + 1)
    return counts
  }

  #wiring(name: string, document: NormalDocument): Wired {
    const { wiring } = this.#catalog
    const { revision } = wiring
    const known = this.#wired.get(name)
    if (known?.revision === revision && known.document === document) return known
    return { revision, document, issues: issuesOf(name, document, wiring).length }
  }
}

import { issuesOf } from '../../core/flow/issues.ts'
import { quantileOf } from '../../core/memory/buckets.ts'
import { PLACEMENT } from '../../core/memory/counters.ts'
import { errorTable, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { didYouMean } from '../../protocol/nearest.ts'
import type { Flow, FlowCommit, FlowSummary, NodeStatus } from '../../protocol/nouns/flow.ts'
import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import type { Issue } from '../../protocol/nouns/issue.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import { formatTime } from '../../protocol/time.ts'
import type { Latencies } from '../health/latencies.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { Store } from '../store/front/client.ts'
import { damageText } from '../store/front/replies.ts'
import { templateOf } from './body-template.ts'
import type { Catalog } from './catalog.ts'
import type { LiveFlow } from './flow.ts'

/** Rows that a flow names; all of them are in the events. */
export const DAMAGE_SHOWN = 10

export interface ShowParts {
  front: FrontMemory
  store: Pick<Store, 'commits' | 'damage' | 'health'>
  catalog: Catalog
  health: NodeHealth
  latencies: Latencies
}

/** Flows as users see them: the document, what waits, how its nodes do, what is doubtful about it. */
export class Show {
  readonly #parts: ShowParts

  constructor(parts: ShowParts) {
    this.#parts = parts
  }

  list({ limit, offset }: Page): List<FlowSummary> {
    const { catalog } = this.#parts
    const names = catalog.names()
    const items = names.slice(offset, offset + limit).map(name => this.#summary(catalog.existing(name)))
    return { items, count: names.length }
  }

  flow(flow: LiveFlow): Flow {
    const { clock, flows, queue } = this.#parts.front
    const oldest_us = queue.oldest(flow.index)
    return {
      ...this.#summary(flow),
      document: flow.document as FlowDocument,
      backlog: {
        flow: flow.name,
        waiting: flows.waiting(flow.index),
        waiting_bytes: flows.waitingBytes(flow.index),
        oldest_s: oldest_us === 0 ? null : Math.max(0, (clock.now_us() - oldest_us) / 1e6),
        share: flows.share(flow.index),
      },
      resumed_after_restart: flow.resumed,
      not_run_after_restart: flow.not_run,
      node_status: this.#nodes(flow),
    }
  }

  #nodes(flow: LiveFlow): NodeStatus[] {
    const { counters, held, scheduled } = this.#parts.front
    const { latencies } = this.#parts
    return flow.plan.nodes.map(node => {
      const executions = counters.get(node.index, 'executions')
      // Most nodes of a large flow may never have run, and there are thousands.
      const counts = executions === 0 ? null : latencies.distribution({ node: node.index }, 'execution').counts
      const seconds = (q: number): number | null => {
        const ns = counts === null ? null : quantileOf(counts, q)
        return ns === null ? null : ns / 1e9
      }
      return {
        id: node.id,
        executions,
        errors: counters.get(node.index, 'errors'),
        waiting_for_input: counters.get(node.index, 'waiting_for_input'),
        replaced: node.outputs.reduce((sum, output) => {
          const { index } = flow.plan.messages[output.message]!
          return sum + held.replaced(index) + scheduled.replaced(index)
        }, 0),
        placement: node.dispatch || counters.placement(node.index) !== PLACEMENT.inline ? 'dispatch' : 'inline',
        execution_p50_s: seconds(0.5),
        execution_p99_s: seconds(0.99),
        down: this.#parts.health.downText(node.qualified),
      }
    })
  }

  #summary(flow: LiveFlow): FlowSummary {
    return {
      name: flow.name,
      enabled: flow.enabled,
      version: flow.version,
      commit: flow.commit,
      nodes: flow.document.nodes.length,
      updated_at: formatTime(flow.updated_at),
      updated_by: flow.updated_by,
      origin: flow.origin as FlowSummary['origin'],
      issues: this.issues(flow),
    }
  }

  issues(flow: LiveFlow): Issue[] {
    const { catalog, health } = this.#parts
    const ids = flow.document.nodes.map(node => node.id)
    const wiring = issuesOf(flow.name, flow.document, catalog.wiring)
    return [
      ...wiring,
      ...health.issuesOf(flow.name, ids),
      ...this.#pressure(flow),
      ...this.#unkept(),
      ...this.#damaged(flow),
    ]
  }

  /** While the disk takes nothing every flow's values are gone as soon as the next ones come. */
  #unkept(): Issue[] {
    const { fault, dropped } = this.#parts.store.health
    if (fault === null) return []
    const message = `${fault.reason}: values are not kept (${dropped} of this engine so far). ${errorTable[fault.code].next}`
    return [{ code: 'history_dropped', advisory: false, message, node: null, since: null }]
  }

  /** What was put aside since the start; of what belongs to no flow each of them is told. */
  #damaged(flow: LiveFlow): Issue[] {
    return this.#parts.store.damage
      .filter(damage => damage.flow === null || damage.flow === flow.name)
      .slice(0, DAMAGE_SHOWN)
      .map(damage => ({ code: 'data_damaged', advisory: false, message: damageText(damage), node: null, since: null }))
  }

  #pressure(flow: LiveFlow): Issue[] {
    const share = this.#parts.front.flows.share(flow.index)
    if (share < limits.FLOW_PRESSURE_SHOWN) return []
    const message = `As much waits in the flow as makes ${Math.round(share * 100)} % of its bound; at 100 % it takes nothing from outside.`
    return [{ code: 'backlog', advisory: true, message, node: null, since: null }]
  }

  source(name: string, node: string): { source: string; missing: boolean } {
    const flow = this.#parts.catalog.existing(name)
    const found = flow.document.nodes.find(one => one.id === node)
    const nodes = flow.document.nodes.map(({ id }) => id)
    if (found === undefined)
      throw new ServiceError('node_not_found', `Flow "${name}" has no node "${node}".${didYouMean(node, nodes)}`)
    if (found.source !== null) return { source: found.source, missing: false }
    return { source: templateOf(found), missing: true }
  }

  async history(name: string, page: Page): Promise<List<FlowCommit>> {
    const commits = await this.#parts.store.commits(name, page)
    if (commits.count === 0)
      throw new ServiceError('flow_not_found', `There is no flow "${name}", and it never existed.`)
    return commits
  }
}

import type { Steps } from '../../core/steps.ts'
import type { EngineFigures, FlowRow, NodeFigures } from '../../protocol/socket/figures.ts'
import { formatTime } from '../../protocol/time.ts'
import type { FigureSource } from '../fanout/figures/feed.ts'
import type { TakenEngine, TakenFlow } from '../fanout/figures/frames.ts'
import type { LiveFlow } from '../flows/flow.ts'
import type { LiveFlows } from '../flows/flows.ts'
import type { MessageMap } from '../flows/message-map.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'

export interface LiveFiguresParts {
  front: FrontMemory
  flows: LiveFlows
  map: MessageMap
  health: NodeHealth
  status(): 'ok' | 'degraded'
  runs(): EngineFigures['runs']
  waitingCount(): number
}

/** What the engine counts, as its shared memory has it now. */
export class LiveFigures implements FigureSource {
  readonly #parts: LiveFiguresParts

  constructor(parts: LiveFiguresParts) {
    this.#parts = parts
  }

  hasFlow(name: string): boolean {
    return this.#parts.flows.find(name) !== undefined
  }

  *flow(name: string): Steps<TakenFlow | null> {
    const { flows, front, health } = this.#parts
    const flow = flows.find(name)
    if (flow === undefined) return null
    const { plan, index, enabled } = flow
    const { counters } = front
    const nodes = new Map<string, NodeFigures>()
    for (const { id, index } of plan.nodes) {
      const node = `${name}.${id}`
      nodes.set(id, {
        executions: counters.get(index, 'executions'),
        errors: counters.get(index, 'errors'),
        waiting_for_input: counters.get(index, 'waiting_for_input'),
        down: health.downText(node),
        error: health.hasError(node),
      })
      yield
    }
    const messages = new Map<string, number>()
    for (const { name, index } of plan.messages) messages.set(name, front.messages.version(index))
    const now_us = front.clock.now_us()
    const oldest_us = front.queue.oldest(index)
    const head = {
      type: 'flow_figures' as const,
      ts: formatTime(now_us),
      flow: name,
      enabled,
      waiting: Math.max(0, front.flows.waiting(index)),
      oldest_s: oldest_us === 0 ? null : Math.max(0, (now_us - oldest_us) / 1e6),
      share: front.flows.share(index),
    }
    return { head, records: { nodes, messages } }
  }

  *engine(): Steps<TakenEngine> {
    const { flows, front, status, runs, waitingCount } = this.#parts
    const troubles = yield* flows.troubles()
    const rows = new Map<string, FlowRow>()
    for (const flow of flows.all()) {
      const { issues, down } = troubles.get(flow.name) ?? { issues: 0, down: 0 }
      rows.set(flow.name, { ...this.#counts(flow), issues, down })
      yield
    }
    const head = {
      type: 'engine_figures' as const,
      ts: formatTime(front.clock.now_us()),
      status: status(),
      runs: runs(),
      cascades_in_flight: front.cascadesInFlight,
      waiting_count: waitingCount(),
      rss_bytes: process.memoryUsage.rss(),
    }
    return { head, records: { flows: rows } }
  }

  #counts({ name, index, enabled, plan }: LiveFlow): Omit<FlowRow, 'issues' | 'down'> {
    const { counters, messages, flows } = this.#parts.front
    let [executions, errors, published] = [0, 0, 0]
    for (const node of plan.nodes) {
      executions += counters.get(node.index, 'executions')
      errors += counters.get(node.index, 'errors')
    }
    for (const message of this.#parts.map.ofFlow(name)) published += messages.version(message.index)
    return { enabled, executions, errors, published, waiting: Math.max(0, flows.waiting(index)) }
  }
}

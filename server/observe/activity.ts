import { limits } from '../../protocol/limits.ts'
import type { ActivityFrame, FlowActivity, NodeActivity } from '../../protocol/socket/activity.ts'
import { formatTime } from '../../protocol/time.ts'
import type { LiveFlow } from '../flows/flow.ts'
import { ExecutionRates } from '../health/execution-rates.ts'
import type { Latencies } from '../health/latencies.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import { fatal } from '../watch/fatal.ts'
import { inSlices } from '../watch/slices.ts'

export interface ActivityParts {
  readonly front: Pick<FrontMemory, 'counters' | 'clock' | 'flows' | 'cascadesInFlight'>
  readonly flows: { all(): Iterable<LiveFlow>; find(name: string): LiveFlow | undefined }
  readonly health: Pick<NodeHealth, 'troubled'>
  readonly latencies: Pick<Latencies, 'lastMinuteP99' | 'minute'>
  readonly max_cascades: number
}

/** What each flow does now. The counters of all nodes are read once a second; all else is worked out for whoever follows it. */
export class Activity {
  readonly #parts: ActivityParts
  readonly #rates: ExecutionRates
  /** Of the last complete minute: by flow, and by node. */
  readonly #p99s = new Map<string, number | null>()
  #minute_us: number | null = null
  #looked_us: number
  #timer: NodeJS.Timeout | null = null
  #isLooking = false
  #onLook = (): void => {}

  constructor(parts: ActivityParts) {
    this.#parts = parts
    this.#looked_us = parts.front.clock.steady_us()
    this.#rates = new ExecutionRates(node => parts.front.counters.get(node, 'executions'))
  }

  start(): void {
    this.#timer = setInterval(() => {
      if (!this.#isLooking) this.#look().catch(fatal)
    }, limits.ACTIVITY_MS)
    this.#timer.unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  /** Called after each look: the figures are new. */
  onLook(follower: () => void): void {
    this.#onLook = follower
  }

  async #look(): Promise<void> {
    const { flows, front } = this.#parts
    const now_us = front.clock.steady_us()
    this.#isLooking = true
    await inSlices(this.#rates.look(nodesOf(flows.all()), (now_us - this.#looked_us) / 1e6))
    this.#isLooking = false
    this.#looked_us = now_us
    this.#onLook()
  }

  /** Every line is a new one. */
  get hasNewLines(): boolean {
    return this.#rates.isIntervalEnd
  }

  engine(): Omit<ActivityFrame, 'flows' | 'nodes'> {
    const { front, flows, max_cascades } = this.#parts
    return {
      type: 'activity',
      ts: formatTime(front.clock.now_us()),
      per_s: rounded(this.#rates.perSecond(nodesOf(flows.all()))),
      cascades: { in_flight: front.cascadesInFlight, limit: max_cascades },
    }
  }

  *flows(): Iterable<FlowActivity> {
    const { front, flows, health } = this.#parts
    const troubled = health.troubled()
    for (const flow of flows.all()) {
      yield {
        flow: flow.name,
        per_s: rounded(this.#rates.perSecond(nodesOf([flow]))),
        p99_s: this.#p99(`flow ${flow.index}`, nodesOf([flow])),
        waiting: Math.max(0, front.flows.waiting(flow.index)),
        share: Math.round(front.flows.share(flow.index) * 1000) / 1000,
        ...(troubled.get(flow.name) ?? { down: 0, errors: 0 }),
      }
    }
  }

  /** Of a flow that there is; empty when it has gone. */
  line(flow: string): number[] {
    const found = this.#parts.flows.find(flow)
    return found === undefined ? [] : this.#rates.intervals(nodesOf([found]))
  }

  hasFlow(flow: string): boolean {
    return this.#parts.flows.find(flow) !== undefined
  }

  /** Of a flow that there is. */
  nodes(flow: string): NodeActivity[] {
    const nodes = this.#parts.flows.find(flow)?.plan.nodes ?? []
    return nodes.map(({ id, index }) => ({
      id,
      per_s: rounded(this.#rates.perSecond([index])),
      p99_s: this.#p99(`node ${index}`, [index]),
      last_minute: this.#rates.intervals([index]),
    }))
  }

  /** Worked out once a minute. */
  #p99(key: string, nodes: Iterable<number>): number | null {
    const { latencies } = this.#parts
    const minute_us = latencies.minute?.until_us ?? null
    if (minute_us !== this.#minute_us) this.#p99s.clear()
    this.#minute_us = minute_us
    const known = this.#p99s.get(key)
    if (known !== undefined) return known
    const p99_s = latencies.lastMinuteP99(nodes)
    this.#p99s.set(key, p99_s)
    return p99_s
  }
}

function* nodesOf(flows: Iterable<LiveFlow>): Iterable<number> {
  for (const { plan } of flows) for (const { index } of plan.nodes) yield index
}

/** As far as a reader tells two figures apart, so that what has not changed is the same text. */
function rounded(per_s: number): number {
  const steps = per_s < 10 ? 100 : per_s < 1000 ? 10 : 1
  return Math.round(per_s * steps) / steps
}

import type { Plan } from '../../core/flow/plan.ts'
import { Wiring } from '../../core/flow/wiring.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { didYouMean } from '../../protocol/nearest.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import type { PlanBytes } from '../../threads/lane/plan-bytes.ts'
import type { LiveFlow } from './flow.ts'

/** The flows that exist now, by name, and which of them read whose messages. Changed by one save, removal or rename at a time. */
export class Catalog {
  readonly wiring = new Wiring()
  readonly #flows = new Map<string, LiveFlow>()

  get size(): number {
    return this.#flows.size
  }

  find(name: string): LiveFlow | undefined {
    return this.#flows.get(name)
  }

  /** Throws `flow_not_found`. */
  existing(name: string): LiveFlow {
    const flow = this.#flows.get(name)
    if (flow === undefined) throw new ServiceError('flow_not_found', this.noFlow(name))
    return flow
  }

  /** Says that there is no such flow, and which one may have been meant. */
  noFlow(name: string): string {
    return `There is no flow "${name}".${didYouMean(name, this.#flows.keys())}`
  }

  all(): Iterable<LiveFlow> {
    return this.#flows.values()
  }

  names(): string[] {
    return [...this.#flows.keys()].sort()
  }

  plans(): Iterable<Plan> {
    return [...this.#flows.values()].map(flow => flow.plan)
  }

  planBytes(): Iterable<PlanBytes> {
    return [...this.#flows.values()].map(flow => flow.plan_bytes)
  }

  /** Under its present name. */
  add(flow: LiveFlow): void {
    this.#flows.set(flow.name, flow)
  }

  delete(name: string): void {
    this.#flows.delete(name)
  }

  /** The dtype of a message of any flow; null while nobody declares it. */
  dtypeOf(flow: string, message: string): Dtype | null {
    return this.wiring.flow(flow)?.messages.get(message)?.dtype ?? null
  }

  /** Of all bodies that the plans name. */
  digests(): Set<string> {
    const digests = new Set<string>()
    for (const { plan } of this.#flows.values())
      for (const { digest } of plan.nodes) if (digest !== null) digests.add(digest)
    return digests
  }
}

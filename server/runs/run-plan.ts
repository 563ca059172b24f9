import { isUpstream, type Plan } from '../../core/flow/plan.ts'
import { isCacheable, type Sha256, StageFingerprint } from '../../core/runs/fingerprint.ts'
import { terminalOf } from '../../core/runs/inputs.ts'
import type { NormalDocument, NormalNode } from '../../protocol/nouns/flow-document.ts'
import { injectPlan } from '../../threads/nodes/types/inject.ts'

/** The part of a plan that is the same in all of its runs. */
export interface RunPlan {
  readonly plan: Plan
  /** By position of the node, like the other lists by node; null when the stage cache does not hold it. */
  readonly fingerprints: readonly (StageFingerprint | null)[]
  readonly nodes: readonly NormalNode[]
  /** Whether the node is part of a loop. */
  readonly in_loop: readonly boolean[]
  /** Names of the messages of its outputs, within the flow. */
  readonly outputs: readonly (readonly string[])[]
  /** Positions of nodes that read nothing and have a body. */
  readonly sources: readonly number[]
  /** Whether the node has no body and publishes by itself when a run begins. */
  readonly gives: readonly boolean[]
  /** The values that such nodes publish, by message. */
  readonly given: ReadonlyMap<string, unknown>
  /** Positions of messages, by the names of inputs of a run. */
  readonly messages: ReadonlyMap<string, number>
  /** Messages that no node of the flow reads. */
  readonly terminal: readonly string[]
}

export function runPlanOf(plan: Plan, document: NormalDocument, sha256: Sha256): RunPlan {
  const byId = new Map(document.nodes.map(node => [node.id, node]))
  const given = new Map<string, unknown>()
  for (const node of document.nodes) {
    const [output] = node.ports.outputs
    if (node.type === 'inject' && output !== undefined)
      given.set(output.message, injectPlan(node.settings, output.dtype).value)
  }
  const within = (name: string): string => name.slice(plan.flow.length + 1)
  return {
    plan,
    fingerprints: plan.nodes.map(({ id, digest }) => {
      const node = byId.get(id)!
      return digest !== null && isCacheable(node) ? new StageFingerprint(node, digest, sha256) : null
    }),
    nodes: plan.nodes.map(({ id }) => byId.get(id)!),
    in_loop: plan.nodes.map(({ upstream, position }) => isUpstream(upstream, position)),
    outputs: plan.nodes.map(({ outputs }) => outputs.map(({ message }) => within(plan.messages[message]!.name))),
    sources: plan.nodes.filter(node => node.digest !== null && node.inputs.length === 0).map(node => node.position),
    gives: plan.nodes.map(({ type }) => type === 'inject'),
    given,
    messages: new Map(plan.messages.map(({ own, name }, position) => [own ? within(name) : name, position])),
    terminal: terminalOf(document),
  }
}

import type { Route } from '../../core/cascade/publish/route.ts'
import type { Plan } from '../../core/flow/plan.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import type { PlanBytes } from '../../threads/lane/plan-bytes.ts'

/** A stored flow as the engine runs it. */
export interface LiveFlow {
  name: string
  readonly index: number
  enabled: boolean
  version: number
  commit: string
  document: NormalDocument
  origin: Record<string, unknown> | null
  /** Microseconds since 1970. */
  updated_at: number
  updated_by: string
  /** Accepted items that the last start queued again, and those that it dropped. */
  resumed: number
  not_run: number
  /** The version with which each node began, by id: saves that left it alone did not change it. None: it was there at the start. */
  readonly since: Map<string, number>
  /** Indexes of messages that were rate-limited since the engine runs: a lane may be late to hear that one is no more. */
  readonly rated: Set<number>
  /** Indexes of messages that got their default as their first value since the flow runs. */
  readonly seeded: Set<number>
  plan: Plan
  /** The plan as lanes take it. */
  plan_bytes: PlanBytes
}

/** A flow that nothing was written of and that has no plan yet. */
export const newFlow = (name: string, index: number, document: NormalDocument): LiveFlow => ({
  name,
  index,
  enabled: true,
  version: 0,
  commit: '',
  document,
  origin: null,
  updated_at: 0,
  updated_by: '',
  resumed: 0,
  not_run: 0,
  since: new Map(),
  rated: new Set(),
  seeded: new Set(),
  plan: null as never,
  plan_bytes: null as never,
})

/** The store has committed a change of the flow. */
export function written(flow: LiveFlow, commit: { version: number; commit: string; at: number }): void {
  flow.version = commit.version
  flow.commit = commit.commit
  flow.updated_at = commit.at
}

/** A message that somebody may publish or read by its name. */
export interface LiveMessage {
  readonly name: string
  readonly flow: string
  readonly index: number
  readonly dtype: Dtype
  /** `<flow>.<node>`; null for a flow input. */
  readonly publisher: string | null
  readonly route: Route
  /** False while its flow is disabled: nothing is published to it from outside. */
  readonly enabled: boolean
}

import type { Route } from '../../core/cascade/publish.ts'
import type { Plan } from '../../core/flow/plan.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'

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
  /** Accepted items that had not run when the engine last ended. */
  not_run: number
  /** Indexes of messages that got their default as their first value since the flow runs. */
  readonly seeded: Set<number>
  plan: Plan
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

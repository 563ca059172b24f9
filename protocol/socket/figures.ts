import Type, { type Static } from 'typebox'
import { Timestamp } from '../nouns/timestamp.ts'

/**
 * Frames of `/ws/flows` with what a live engine counts, once a second to those who asked with a `figures` frame. Counts are totals, so that
 * whoever reads two of them has the rate. `whole`: everything stands here; otherwise only what differs from the frame before.
 */

const Total = Type.Number({ description: 'Since the engine started.' })

export const NodeFigures = Type.Object({
  executions: Total,
  errors: Total,
  waiting_for_input: Type.Number({ description: 'Wakes without an execution since the start: an input had no value.' }),
  down: Type.Union([Type.String(), Type.Null()], { description: 'What the node reported, when it is down.' }),
  error: Type.Boolean({ description: 'Its last error is not acknowledged, and it has not run well since.' }),
})
export type NodeFigures = Static<typeof NodeFigures>

export const FlowFigures = Type.Object({
  type: Type.Literal('flow_figures'),
  ts: Timestamp,
  flow: Type.String(),
  whole: Type.Boolean(),
  enabled: Type.Boolean(),
  waiting: Type.Integer(),
  oldest_s: Type.Union([Type.Number(), Type.Null()]),
  share: Type.Number({ description: 'The backlog divided by its bound, 0 to 4.' }),
  nodes: Type.Record(Type.String(), NodeFigures, { description: 'By id.' }),
  messages: Type.Record(Type.String(), Type.Number(), {
    description: 'The version of each message that a node of the flow publishes or reads, by its whole name.',
  }),
})
export type FlowFigures = Static<typeof FlowFigures>

export const FlowRow = Type.Object({
  enabled: Type.Boolean(),
  executions: Total,
  errors: Total,
  published: Type.Number({ description: 'The versions of its messages added up.' }),
  waiting: Type.Integer(),
  issues: Type.Integer({ description: 'Without those that are advice.' }),
  down: Type.Integer({ description: 'Nodes that report themselves down.' }),
})
export type FlowRow = Static<typeof FlowRow>

export const EngineFigures = Type.Object({
  type: Type.Literal('engine_figures'),
  ts: Timestamp,
  whole: Type.Boolean(),
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')]),
  runs: Type.Object({ running: Type.Integer(), queued: Type.Integer() }),
  cascades_in_flight: Type.Integer(),
  waiting_count: Type.Integer({ description: 'Nodes that wait for resources.' }),
  rss_bytes: Type.Integer(),
  flows: Type.Record(Type.String(), FlowRow, { description: 'By name.' }),
})
export type EngineFigures = Static<typeof EngineFigures>

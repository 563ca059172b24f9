import Type, { type Static } from 'typebox'
import { Timestamp } from '../nouns/timestamp.ts'

/** What runs now: the figures that `{type: 'activity'}` frames of the flows websocket carry, see docs/sockets.md. */

const measured = {
  per_s: Type.Number({ description: 'Executions a second over the last five seconds.' }),
  p99_s: Type.Union([Type.Number(), Type.Null()], {
    description: 'Of the executions of the last complete minute; null when there were none.',
  }),
  last_minute: Type.Optional(
    Type.Array(Type.Integer(), {
      description:
        'Executions in each of the last 20 complete intervals of three seconds, oldest first; fewer after a start.',
    }),
  ),
}

export const FlowActivity = Type.Object({
  flow: Type.String(),
  ...measured,
  waiting: Type.Integer(),
  share: Type.Number({ description: 'The backlog divided by its bound.' }),
  down: Type.Integer({ description: 'Nodes that report themselves down.' }),
  errors: Type.Integer({ description: 'Nodes with an error that is shown.' }),
})
export type FlowActivity = Static<typeof FlowActivity>

export const NodeActivity = Type.Object({ id: Type.String(), ...measured })
export type NodeActivity = Static<typeof NodeActivity>

export const ActivityFrame = Type.Object({
  type: Type.Literal('activity'),
  ts: Timestamp,
  per_s: Type.Number({ description: 'Executions a second of all flows.' }),
  cascades: Type.Object({ in_flight: Type.Integer(), limit: Type.Integer() }),
  flows: Type.Array(FlowActivity, { description: 'Those whose figures have changed since the last frame.' }),
  nodes: Type.Optional(Type.Object({ flow: Type.String(), items: Type.Array(NodeActivity) })),
})
export type ActivityFrame = Static<typeof ActivityFrame>

import Type, { type Static } from 'typebox'
import { Timestamp } from './timestamp.ts'

/** Something a flow's owner should know. An advisory issue is advice: it never marks a node. */
export const Issue = Type.Object({
  code: Type.String({
    description:
      'unknown_flow unknown_message dtype_mismatch cycle slow_body blocked_lane node_down node_error inject_refused child_dropped history_dropped data_damaged',
  }),
  advisory: Type.Boolean(),
  message: Type.String(),
  node: Type.Union([Type.String(), Type.Null()], { description: 'The node id within the flow.' }),
  since: Type.Union([Timestamp, Type.Null()]),
})
export type Issue = Static<typeof Issue>

import Type, { type Static } from 'typebox'
import { Timestamp } from './timestamp.ts'

/** One failed execution, kept on its node for a day. */
export const NodeError = Type.Object({
  node: Type.String({ description: '<flow>.<node>' }),
  code: Type.String(),
  message: Type.String(),
  stack: Type.Union([Type.String(), Type.Null()]),
  ts: Timestamp,
  inputs: Type.Unknown({ description: 'The inputs that the body received; shortened when they are large.' }),
  cascade: Type.Union([Type.String(), Type.Null()]),
  acknowledged: Type.Boolean(),
})
export type NodeError = Static<typeof NodeError>

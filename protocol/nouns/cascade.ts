import Type, { type Static } from 'typebox'
import { Timestamp } from './timestamp.ts'

/** Everything that one published message started inside one flow. */
export const Cascade = Type.Object({
  id: Type.String(),
  flow: Type.String(),
  root: Type.String({ description: 'The message that started it.' }),
  root_version: Type.Integer(),
  parent: Type.Union([Type.String(), Type.Null()]),
  rerun_of: Type.Union([Type.String(), Type.Null()], {
    description: 'The cascade that this one repeats, while its record is kept.',
  }),
  started_at: Timestamp,
  duration: Type.Number({ description: 'seconds' }),
  status: Type.Union([
    Type.Literal('running'),
    Type.Literal('succeeded'),
    Type.Literal('failed'),
    Type.Literal('interrupted'),
  ]),
  executions: Type.Integer(),
  errors: Type.Integer(),
})
export type Cascade = Static<typeof Cascade>

/** What was accepted to run again: the flow, from that version of the message. */
export const Rerun = Type.Object({
  rerun_of: Type.String(),
  flow: Type.String(),
  root: Type.String(),
  root_version: Type.Integer(),
})
export type Rerun = Static<typeof Rerun>

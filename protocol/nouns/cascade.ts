import Type, { type Static } from 'typebox'

/** Everything that one published message started inside one flow. */
export const Cascade = Type.Object({
  id: Type.String(),
  flow: Type.String(),
  root: Type.String({ description: 'The message that started it.' }),
  root_version: Type.Integer(),
  parent: Type.Union([Type.String(), Type.Null()]),
  started_at: Type.String(),
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

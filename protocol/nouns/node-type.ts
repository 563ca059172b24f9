import Type, { type Static } from 'typebox'
import { Dtype } from '../values/dtype.ts'

const closed = { additionalProperties: false }

export const PortRule = Type.Object(
  {
    kind: Type.Union([Type.Literal('none'), Type.Literal('any'), Type.Literal('known'), Type.Literal('fields')], {
      description:
        '`none`: no port. `any`: whatever the document declares. `known`: a choice of `ports`. `fields`: named after fields of what comes in.',
    }),
    description: Type.Optional(Type.String()),
    ports: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String(),
            dtypes: Type.Array(Dtype, { description: 'Those that the port may have; the first is the usual one.' }),
            description: Type.String(),
            required: Type.Optional(Type.Boolean({ description: 'The node has no use without it.' })),
          },
          closed,
        ),
      ),
    ),
    more: Type.Optional(Type.String({ description: 'Which other ports it may have.' })),
  },
  closed,
)

export type PortRule = Static<typeof PortRule>

export const NodeTypeInfo = Type.Object(
  {
    name: Type.String({ description: 'As flow documents name it.' }),
    title: Type.String(),
    summary: Type.String({ description: 'One sentence.' }),
    place: Type.Union(
      [Type.Literal('lane'), Type.Literal('timer'), Type.Literal('connectors'), Type.Literal('front')],
      { description: 'The thread that runs it.' },
    ),
    side_effects: Type.Boolean({
      description: 'It reaches outside of the engine, or depends on time: the stage cache never knows its results.',
    }),
    has_target: Type.Boolean({ description: 'It points at a thing outside of the engine.' }),
    settings: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'JSON Schema. `x-secret` marks a text that may be `{"secret": "<name>"}` as well; `unit` is for display.',
    }),
    inputs: PortRule,
    outputs: PortRule,
  },
  closed,
)
export type NodeTypeInfo = Static<typeof NodeTypeInfo>

import Type, { type Static } from 'typebox'
import { limits } from '../limits.ts'
import { MESSAGE_REFERENCE_PATTERN, NAME_PATTERN, VARIABLE_PATTERN } from '../names.ts'
import { Dtype } from '../values/dtype.ts'

/** The flow document: nodes whose ports are wired together by named messages. `core/flow/normalize.ts` fills in the defaults. */

const Name = (description: string) => Type.String({ pattern: NAME_PATTERN, description })
const closed = { additionalProperties: false }
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()])

export const InputPort = Type.Object(
  {
    name: Name('The key under which the body receives the value.'),
    dtype: Dtype,
    message: Type.Optional(
      nullable(
        Type.String({
          pattern: MESSAGE_REFERENCE_PATTERN,
          description:
            'The message that the port reads: `m` of this flow or `f.m` of another; the port name when absent.',
        }),
      ),
    ),
    trigger: Type.Optional(
      Type.Boolean({ default: true, description: 'Does a publish of the message wake the node?' }),
    ),
  },
  closed,
)
export type InputPort = Static<typeof InputPort>

export const OutputPort = Type.Object(
  {
    name: Name('The key under which the body returns the value.'),
    dtype: Dtype,
    message: Type.Optional(
      nullable(
        Type.String({
          pattern: NAME_PATTERN,
          description: 'The message that the port produces; the port name when absent.',
        }),
      ),
    ),
    rate_hz: Type.Optional(
      nullable(
        Type.Number({
          minimum: limits.RATE_HZ_MIN,
          maximum: limits.RATE_HZ_MAX,
          description:
            'At most this many values a second; the newest held value is published at the end of each interval.',
        }),
      ),
    ),
  },
  closed,
)
export type OutputPort = Static<typeof OutputPort>

export const Resources = Type.Object(
  {
    cpus: Type.Optional(nullable(Type.Number({ exclusiveMinimum: 0, maximum: 4096 }))),
    /** Whole ones; the check says so of each node by its name. */
    gpus: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: 1024 }))),
    ram: Type.Optional(
      nullable(
        Type.Union([
          Type.Number({ exclusiveMinimum: 0, maximum: 1e9, description: 'MB' }),
          Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?[KMGT]?$', maxLength: 16, description: 'such as 512M or 2G' }),
        ]),
      ),
    ),
    env: Type.Optional(
      Type.Record(Type.String({ pattern: VARIABLE_PATTERN }), Type.String({ maxLength: limits.VARIABLE_CHARACTERS })),
    ),
    flavor: Type.Optional(nullable(Name('A stored flavor.'))),
  },
  closed,
)
export type Resources = Static<typeof Resources>

export const FlowNode = Type.Object(
  {
    id: Name('Unique in the flow.'),
    type: Type.String({ minLength: 1, maxLength: 64, description: 'code, inject' }),
    language: Type.Optional(Type.Union([Type.Literal('ts'), Type.Literal('js'), Type.Literal('python')])),
    source: Type.Optional(
      nullable(Type.String({ maxLength: limits.SOURCE_BYTES, description: 'The body of a code node.' })),
    ),
    settings: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    ports: Type.Object(
      {
        inputs: Type.Optional(Type.Array(InputPort, { maxItems: limits.NODE_PORTS })),
        outputs: Type.Optional(Type.Array(OutputPort, { maxItems: limits.NODE_PORTS })),
      },
      closed,
    ),
    resources: Type.Optional(Resources),
    duration_s: Type.Optional(nullable(Type.Number({ minimum: 0, maximum: limits.TIMEOUT_S_MAX }))),
    timeout: Type.Optional(
      nullable(Type.Number({ exclusiveMinimum: 0, maximum: limits.TIMEOUT_S_MAX, description: 'seconds' })),
    ),
    cache: Type.Optional(Type.Boolean()),
    device: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 128 }))),
    isolation: Type.Optional(nullable(Type.Literal('process'))),
    position: Type.Optional(Type.Object({ x: Type.Number(), y: Type.Number() }, closed)),
  },
  closed,
)
export type FlowNode = Static<typeof FlowNode>

export const FlowInput = Type.Object(
  {
    message: Name('A message that is published from outside.'),
    dtype: Dtype,
    default: Type.Optional(Type.Unknown({ description: 'The value that the message gets on the first save.' })),
  },
  closed,
)
export type FlowInput = Static<typeof FlowInput>

export const FlowDocument = Type.Object(
  {
    nodes: Type.Array(FlowNode, { maxItems: limits.FLOW_NODES }),
    inputs: Type.Optional(Type.Array(FlowInput, { maxItems: limits.FLOW_INPUTS })),
    on_restart: Type.Optional(
      Type.Union([Type.Literal('resume'), Type.Literal('latest')], {
        description:
          'What a restart does with accepted values that have not run: `resume` queues them again, `latest` drops and counts them.',
      }),
    ),
  },
  closed,
)
export type FlowDocument = Static<typeof FlowDocument>

/** A document with every default filled in; two that mean the same are deeply equal (Node rule 1). */
export interface NormalInputPort {
  name: string
  dtype: Dtype
  message: string
  trigger: boolean
}
export interface NormalOutputPort {
  name: string
  dtype: Dtype
  message: string
  rate_hz: number | null
}
export interface NormalNode {
  id: string
  type: string
  language: 'ts' | 'js' | 'python'
  source: string | null
  settings: Record<string, unknown>
  ports: { inputs: NormalInputPort[]; outputs: NormalOutputPort[] }
  resources: {
    cpus: number | null
    gpus: number | null
    /** MB, as given: `2048` or `"2G"`. */
    ram: number | string | null
    env: Record<string, string>
    flavor: string | null
  }
  duration_s: number | null
  timeout: number | null
  cache: boolean
  device: string | null
  isolation: 'process' | null
  position: { x: number; y: number }
}
export interface NormalDocument {
  nodes: NormalNode[]
  inputs: FlowInput[]
  /** Absent: `resume`. */
  on_restart?: 'latest'
}

import Type, { type Static } from 'typebox'
import { limits } from '../limits.ts'
import { Timestamp } from './timestamp.ts'

/** Of durations that were counted in buckets at most 12 % wide. */
export const Quantiles = Type.Object({
  count: Type.Integer(),
  mean_s: Type.Number(),
  p50_s: Type.Number(),
  p90_s: Type.Number(),
  p99_s: Type.Number(),
})
export type Quantiles = Static<typeof Quantiles>

const quantiles = (description: string) => Type.Union([Quantiles, Type.Null()], { description })

/** Null where nothing was counted. */
export const Latencies = Type.Object({
  wait: quantiles('From the publish of the value that woke the node to the start of its body.'),
  execution: quantiles('The body, from its start to its end.'),
  total: quantiles('From the root publish, in whichever flow, to the end of the body.'),
})
export type Latencies = Static<typeof Latencies>

const measured = {
  since_start: Latencies,
  last_minute: Type.Union([Latencies, Type.Null()], {
    description: 'Of the last complete minute, see `minute`; null before the first minute is complete.',
  }),
}

/** A message on its way to an input port. */
export const NodeWire = Type.Object({
  from: Type.Union([Type.String(), Type.Null()], {
    description: 'The port that publishes the message, `flow.node.port`; null when it is published from outside.',
  }),
  message: Type.String({ description: 'Qualified: `flow.message`.' }),
  port: Type.String(),
  trigger: Type.Boolean({ description: 'Whether a value triggers the node. Only triggers have latencies.' }),
  since_start: Type.Union([Latencies, Type.Null()]),
  last_minute: Type.Union([Latencies, Type.Null()]),
})
export type NodeWire = Static<typeof NodeWire>

export const NodeDetail = Type.Object({
  name: Type.String({ description: '`flow.node`' }),
  type: Type.String(),
  place: Type.Union([Type.Literal('lane'), Type.Literal('timer'), Type.Literal('connectors'), Type.Literal('front')], {
    description: 'The thread that runs nodes of the type; `placement` says whether a lane calls the body away.',
  }),
  placement: Type.Union([Type.Literal('inline'), Type.Literal('dispatch')]),
  executions: Type.Integer(),
  errors: Type.Integer(),
  waiting_for_input: Type.Integer({
    description: 'How often the node was triggered but did not run, because an input had no value yet.',
  }),
  dropped: Type.Integer({
    description: 'Values and messages of the node that were given up; the events `values_dropped` of its flow say why.',
  }),
  down: Type.Union([Type.String(), Type.Null()], { description: 'What the node reported, when it is down.' }),
  down_since: Type.Union([Timestamp, Type.Null()]),
  target: Type.Union([Type.String(), Type.Null()], {
    description:
      'The outside thing that the node points at, without credentials; null when it has none, or when it is a secret.',
  }),
  gauges: Type.Record(Type.String(), Type.Number(), {
    description: 'The numbers that the node has set last, such as the port that it listens on.',
  }),
  minute: Type.Union([Type.Object({ since: Timestamp, until: Timestamp }), Type.Null()], {
    description: 'The last complete minute of the engine, counted from its start.',
  }),
  ...measured,
  wires: Type.Array(NodeWire),
})
export type NodeDetail = Static<typeof NodeDetail>

/** A body that is to run once, on the side. */
export const TryNode = Type.Object(
  {
    inputs: Type.Optional(
      Type.Record(Type.String({ maxLength: 128 }), Type.Unknown(), {
        description: 'Values by input port. A port that is left out has the newest value of its message.',
      }),
    ),
    source: Type.Optional(
      Type.String({ maxLength: limits.SOURCE_BYTES, description: 'In place of the source of the node.' }),
    ),
    settings: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'In place of the settings of the node.' }),
    ),
    timeout_s: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: limits.TRY_S_MAX, description: `${limits.TRY_S} when left out.` }),
    ),
  },
  { additionalProperties: false },
)
export type TryNode = Static<typeof TryNode>

const Values = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description })

export const TriedLine = Type.Object({ ts: Timestamp, level: Type.String(), text: Type.String() })
export type TriedLine = Static<typeof TriedLine>

export const TriedError = Type.Object({
  code: Type.String(),
  message: Type.String(),
  stack: Type.Union([Type.String(), Type.Null()]),
  line: Type.Union([Type.Integer(), Type.Null()], { description: 'Of the source, from 1; null: not known.' }),
  column: Type.Union([Type.Integer(), Type.Null()]),
})
export type TriedError = Static<typeof TriedError>

/** What came of it. Nothing of it was published or kept. */
export const TriedNode = Type.Object({
  inputs: Values('What it ran on, by port.'),
  outputs: Type.Union([Values('What the body returned, by port.'), Type.Null()], {
    description: 'Null when it returned nothing, or failed.',
  }),
  emissions: Type.Array(Values('By port.'), {
    description: `What it emitted before it ended, the first ${limits.TRY_EMISSIONS_SHOWN}.`,
  }),
  emitted: Type.Integer({ description: 'How often it emitted.' }),
  log: Type.Array(TriedLine, { description: `The first ${limits.TRY_LINES} lines that it logged or printed.` }),
  log_dropped: Type.Integer({ description: 'Lines that are not in `log`.' }),
  metrics: Type.Record(Type.String(), Type.Number(), { description: 'The newest value of each `ctx.metric`.' }),
  report: Type.Union([Type.Object({ status: Type.String(), text: Type.String() }), Type.Null()], {
    description: 'Its last `ctx.report`.',
  }),
  state: Type.Union([Values('What it left in its copy of `ctx.state`.'), Type.Null()], {
    description: 'Null when it is too long to show.',
  }),
  duration_s: Type.Number(),
  error: Type.Union([TriedError, Type.Null()]),
  left_out: Type.Array(Type.String(), {
    description: 'Places of values that are too long to show, such as `outputs.picture`; null stands for them.',
  }),
})
export type TriedNode = Static<typeof TriedNode>

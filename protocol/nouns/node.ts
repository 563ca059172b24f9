import Type, { type Static } from 'typebox'
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

import Type, { type Static } from 'typebox'
import { limits } from '../limits.ts'
import { FlowBacklog } from './flow.ts'
import { Timestamp } from './timestamp.ts'

export const ThreadStatus = Type.Object({
  slot: Type.Integer({ description: 'The thread slot in shared memory; 0 when it has none.' }),
  kind: Type.String({ description: 'front store reader artifacts timer lane' }),
  epoch: Type.Integer({ description: 'Counts the threads that held this slot.' }),
  state: Type.String({ description: 'idle busy running silent' }),
  heap_bytes: Type.Union([Type.Integer(), Type.Null()]),
  node: Type.Union([Type.String(), Type.Null()], { description: 'The body that runs now.' }),
})
export type ThreadStatus = Static<typeof ThreadStatus>

export const DiskClass = Type.Object({
  class: Type.String({
    description:
      'history cascades events runs run_logs run_metrics artifacts (once a sweep has counted them) flows wal log',
  }),
  bytes: Type.Integer(),
  budget_bytes: Type.Union([Type.Integer(), Type.Null()]),
})
export type DiskClass = Static<typeof DiskClass>

export const Summary = Type.Object({
  version: Type.String(),
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')]),
  started_at: Timestamp,
  uptime_s: Type.Number(),
  flows: Type.Object({ total: Type.Integer(), enabled: Type.Integer(), with_issues: Type.Integer() }),
  backlog: Type.Array(FlowBacklog, { description: 'Flows with a backlog, the fullest first, at most 100.' }),
  nodes_down: Type.Integer(),
  node_errors: Type.Integer({ description: 'Nodes with an error that is not acknowledged.' }),
  cascades: Type.Object({ in_flight: Type.Integer(), limit: Type.Integer() }),
  threads: Type.Array(ThreadStatus),
  dropped: Type.Record(Type.String(), Type.Integer(), {
    description: 'How many items were dropped since the start, by reason.',
  }),
  front: Type.Object(
    { held: Type.Integer(), longest_ms: Type.Number() },
    {
      description: `How often the front thread was blocked for over ${limits.FRONT_HELD_MS} ms since the start, and the longest time.`,
    },
  ),
  disk: Type.Array(DiskClass),
  memory: Type.Object({ rss_bytes: Type.Integer(), arena_bytes: Type.Integer(), arena_limit_bytes: Type.Integer() }),
})
export type Summary = Static<typeof Summary>

/** For whoever watches the process: it works, or works with something that a person should look at. */
export const Health = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')], {
    description:
      '`degraded`: the engine is overloaded, a node is down, or history cannot be written; the engine keeps running.',
  }),
})
export type Health = Static<typeof Health>

/** A closed bin of the engine's own figures. */
export const TimeseriesPoint = Type.Object({
  ts: Timestamp,
  published: Type.Integer(),
  executions: Type.Integer(),
  errors: Type.Integer(),
  cascades: Type.Integer(),
  waiting: Type.Integer({ description: 'The highest number of items that waited at the same time.' }),
  sockets: Type.Integer(),
})
export type TimeseriesPoint = Static<typeof TimeseriesPoint>

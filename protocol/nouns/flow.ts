import Type, { type Static } from 'typebox'
import { NAME_PATTERN } from '../names.ts'
import { FlowDocument } from './flow-document.ts'
import { Issue } from './issue.ts'
import { Timestamp } from './timestamp.ts'

export const FlowName = Type.String({ pattern: NAME_PATTERN })

export const FlowSummary = Type.Object({
  name: Type.String(),
  enabled: Type.Boolean(),
  version: Type.Integer({ description: 'Counts the saves of this flow, from 1.' }),
  commit: Type.String({ description: 'The commit of the flow store that holds this version.' }),
  nodes: Type.Integer(),
  updated_at: Timestamp,
  updated_by: Type.String(),
  origin: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()]),
  issues: Type.Array(Issue),
})
export type FlowSummary = Static<typeof FlowSummary>

/** What waits in a flow and how near its bound it is. */
export const FlowBacklog = Type.Object({
  flow: Type.String(),
  waiting: Type.Integer(),
  waiting_bytes: Type.Integer(),
  oldest_s: Type.Union([Type.Number(), Type.Null()]),
  share: Type.Number({ description: 'The backlog divided by its bound, 0 to 4.' }),
})
export type FlowBacklog = Static<typeof FlowBacklog>

export const NodeStatus = Type.Object({
  id: Type.String(),
  executions: Type.Integer(),
  errors: Type.Integer(),
  waiting_for_input: Type.Integer(),
  replaced: Type.Integer({ description: 'Values that were replaced by a newer one because of `rate_hz`.' }),
  placement: Type.Union([Type.Literal('inline'), Type.Literal('dispatch')]),
  execution_p50_s: Type.Union([Type.Number(), Type.Null()]),
  execution_p99_s: Type.Union([Type.Number(), Type.Null()]),
  down: Type.Union([Type.String(), Type.Null()], { description: 'What the node reported, when it is down.' }),
})
export type NodeStatus = Static<typeof NodeStatus>

export const Flow = Type.Object({
  ...FlowSummary.properties,
  document: FlowDocument,
  backlog: FlowBacklog,
  resumed_after_restart: Type.Integer({
    description: 'Accepted items that had not run when the engine last ended, and were queued again.',
  }),
  not_run_after_restart: Type.Integer({
    description: 'Accepted items that had not run when the engine last ended, and were dropped.',
  }),
  node_status: Type.Array(NodeStatus),
})
export type Flow = Static<typeof Flow>

/** Of a flow that is defined in code: where that code is, and the digests of the bodies that it was uploaded with. */
export const FlowOrigin = Type.Object(
  {
    repository: Type.String({ maxLength: 1024 }),
    commit: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'The commit of that repository; ends in `-dirty` when files were changed.',
      }),
    ),
    digests: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: 128 }), {
        description: 'SHA-256 of each source as it was uploaded, by node id.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type FlowOrigin = Static<typeof FlowOrigin>

export const SaveFlow = Type.Object(
  {
    document: FlowDocument,
    message: Type.Optional(Type.String({ maxLength: 1000 })),
    base_version: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
    origin: Type.Optional(
      Type.Union([FlowOrigin, Type.Null()], {
        description: 'When absent, the flow keeps its origin; null removes it.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type SaveFlow = Static<typeof SaveFlow>

export const CreateFlow = Type.Object({ name: FlowName, ...SaveFlow.properties }, { additionalProperties: false })
export type CreateFlow = Static<typeof CreateFlow>

export const SavedFlow = Type.Object({
  name: Type.String(),
  version: Type.Integer(),
  commit: Type.String(),
  restarted: Type.Array(Type.String(), { description: 'Node ids that start with fresh state.' }),
  kept: Type.Array(Type.String(), { description: 'Node ids that keep their state.' }),
  issues: Type.Array(Issue),
})
export type SavedFlow = Static<typeof SavedFlow>

export const PurgedFlow = Type.Object({
  name: Type.String(),
  dropped: Type.Integer({ description: 'Items of the queue and executions in mailboxes that were dropped.' }),
})
export type PurgedFlow = Static<typeof PurgedFlow>

export const FlowCommit = Type.Object({
  commit: Type.String(),
  parent: Type.Union([Type.String(), Type.Null()]),
  flow: Type.String(),
  version: Type.Integer(),
  author: Type.String(),
  message: Type.String(),
  at: Type.String(),
  action: Type.String({ description: 'save, rename, delete, restore, enable, disable' }),
})
export type FlowCommit = Static<typeof FlowCommit>

export const FlowDifference = Type.Object({
  path: Type.String({ description: 'JSON pointer into the document.' }),
  before: Type.Optional(Type.Unknown()),
  after: Type.Optional(Type.Unknown()),
})
export const FlowCommitDetail = Type.Object({
  ...FlowCommit.properties,
  origin: Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()]),
  document: Type.Union([FlowDocument, Type.Null()]),
  diff: Type.Array(FlowDifference, { description: 'The differences to the version before.' }),
})
export type FlowCommitDetail = Static<typeof FlowCommitDetail>

import Type, { type Static } from 'typebox'
import { limits } from '../limits.ts'
import { FlowName } from '../nouns/flow.ts'
import { MessageName } from '../nouns/message.ts'
import { RunId } from '../nouns/run.ts'

/** Text frames of `/ws/flows`, client to server. Nothing is pushed that was not asked for. */
const Names = Type.Array(MessageName, { maxItems: limits.SOCKET_NAMES })

export const SubscribeFrame = Type.Object(
  {
    type: Type.Literal('subscribe'),
    names: Type.Optional(Names),
    flows: Type.Optional(
      Type.Array(FlowName, { maxItems: limits.SOCKET_NAMES, description: 'Every message of these flows.' }),
    ),
    events: Type.Optional(Type.Boolean({ description: 'Engine events other than message values.' })),
  },
  { additionalProperties: false },
)
export const UnsubscribeFrame = Type.Object(
  { ...SubscribeFrame.properties, type: Type.Literal('unsubscribe') },
  { additionalProperties: false },
)
export const PublishFrame = Type.Object(
  {
    type: Type.Literal('publish'),
    id: Type.Union([Type.String({ maxLength: 128 }), Type.Number()]),
    name: MessageName,
    value: Type.Unknown(),
    durable: Type.Optional(Type.Boolean({ description: 'Acknowledge only after the value is on disk.' })),
  },
  { additionalProperties: false },
)
export const HaveFrame = Type.Object(
  {
    type: Type.Literal('have'),
    versions: Type.Record(MessageName, Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  },
  { additionalProperties: false },
)
export const FollowLogsFrame = Type.Object(
  {
    type: Type.Literal('follow_logs'),
    run: RunId,
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The number of the last line that the client has.',
      }),
    ),
  },
  { additionalProperties: false },
)
export const UnfollowLogsFrame = Type.Object(
  { type: Type.Literal('unfollow_logs'), run: RunId },
  { additionalProperties: false },
)
export const FollowActivityFrame = Type.Object(
  {
    type: Type.Literal('follow_activity'),
    nodes_of: Type.Optional(
      Type.Union([FlowName, Type.Null()], { description: 'A flow of whose nodes the figures are wanted, too.' }),
    ),
  },
  { additionalProperties: false },
)
export const UnfollowActivityFrame = Type.Object(
  { type: Type.Literal('unfollow_activity') },
  { additionalProperties: false },
)
/** A name that is none is told, and the others stand: so any text may be one. */
export const MediaFrame = Type.Object(
  {
    type: Type.Literal('media'),
    names: Type.Array(Type.String({ maxLength: 256 }), { maxItems: limits.SOCKET_NAMES }),
  },
  { additionalProperties: false },
)
/** An unknown flow is told, and the others stand: so any text may be one. */
export const FiguresFrame = Type.Object(
  {
    type: Type.Literal('figures'),
    flows: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: limits.SOCKET_FIGURES })),
    engine: Type.Optional(Type.Boolean({ description: 'One row of each flow, and what the engine does as a whole.' })),
  },
  { additionalProperties: false },
)

export const ClientFrame = Type.Union([
  SubscribeFrame,
  UnsubscribeFrame,
  PublishFrame,
  HaveFrame,
  FollowLogsFrame,
  UnfollowLogsFrame,
  FollowActivityFrame,
  UnfollowActivityFrame,
  MediaFrame,
  FiguresFrame,
])
export type ClientFrame = Static<typeof ClientFrame>

/**
 * Server to client:
 *   {type: 'message_value', ts, name, version, value, missed?}   `missed`: values of this name that this socket did not get since its last one
 *   {type: 'ack', id, version} | {type: 'error', id, problem}
 *   {type: 'subscribed', names, flows, events}
 *   {type: 'figures', flows, engine}   those whose figures come: `flow_figures` and `engine_figures` (figures.ts)
 *   {type: 'media', names}   those whose frames come; a frame is binary, just ahead of its message_value (docs/sockets.md)
 *   {type: 'log_lines', run, items, next_after, dropped}   lines of a run that is followed; `next_after` null: the last of them
 *   {type: 'activity', ...}   what each flow does now, once a second (activity.ts)
 *   engine events, when asked for
 */
export const SUBPROTOCOL = 'svc.v1'

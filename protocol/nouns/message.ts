import Type, { type Static } from 'typebox'
import { limits } from '../limits.ts'
import { QUALIFIED_PATTERN } from '../names.ts'
import { Dtype } from '../values/dtype.ts'
import { Timestamp } from './timestamp.ts'

export const MessageName = Type.String({ pattern: QUALIFIED_PATTERN, description: '<flow>.<message>' })

export const Message = Type.Object({
  name: Type.String(),
  version: Type.Integer({ description: '0 when it has no value yet.' }),
  value: Type.Unknown(),
  dtype: Dtype,
  updated_at: Type.Union([Timestamp, Type.Null()]),
  publisher: Type.Union([Type.String(), Type.Null()], {
    description: 'The node that produces it; null for a flow input.',
  }),
  truncated: Type.Optional(
    Type.Boolean({
      description: 'In lists: the value is too long and therefore null here; read it with `GET /messages/{name}`.',
    }),
  ),
})
export type Message = Static<typeof Message>

const Durable = Type.Boolean({
  description: 'Answer only after the value is on disk. In a list, one such item makes the answer wait for all items.',
})

export const PublishValue = Type.Object(
  { value: Type.Unknown(), durable: Type.Optional(Durable) },
  { additionalProperties: false },
)
export type PublishValue = Static<typeof PublishValue>

export const PublishNamed = Type.Object(
  { name: MessageName, value: Type.Unknown(), durable: Type.Optional(Durable) },
  { additionalProperties: false },
)
export type PublishNamed = Static<typeof PublishNamed>

export const PublishList = Type.Array(PublishNamed, { minItems: 1, maxItems: limits.PUBLISH_LIST_ITEMS })

export const Published = Type.Object({ name: Type.String(), version: Type.Integer() })
export type Published = Static<typeof Published>

/** A raw point, or a closed bin of a rollup. `value` of a bool is 0 or 1. */
export const HistoryPoint = Type.Object({ ts: Timestamp, version: Type.Integer(), value: Type.Unknown() })
export const HistoryBin = Type.Object({
  ts: Type.String({ format: 'date-time', description: 'Start of the bin.' }),
  count: Type.Integer(),
  min: Type.Union([Type.Number(), Type.Null()]),
  max: Type.Union([Type.Number(), Type.Null()]),
  mean: Type.Union([Type.Number(), Type.Null()]),
  last: Type.Unknown(),
})
export type HistoryPoint = Static<typeof HistoryPoint>
export type HistoryBin = Static<typeof HistoryBin>

export const MessageHistory = Type.Object({
  name: Type.String(),
  dtype: Dtype,
  bucket_s: Type.Union([Type.Number(), Type.Null()]),
  items: Type.Array(Type.Union([HistoryPoint, HistoryBin])),
  truncated: Type.Boolean({
    description:
      'True when older items of the time range were left out. For them, ask again with `until` (and for points `until_version`) of the first item.',
  }),
})
export type MessageHistory = Static<typeof MessageHistory>

import Type, { type Static } from 'typebox'
import { Timestamp } from './timestamp.ts'

export type { EventType } from '../words/event-types.ts'

/** An engine event, as it is kept and as it travels on the flows websocket. */
export const EngineEvent = Type.Object(
  {
    type: Type.String(),
    ts: Timestamp,
    flow: Type.Union([Type.String(), Type.Null()]),
    run: Type.Union([Type.String(), Type.Null()]),
  },
  { additionalProperties: true },
)
export type EngineEvent = Static<typeof EngineEvent> & Record<string, unknown>

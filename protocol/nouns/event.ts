import Type, { type Static } from 'typebox'
import { Timestamp } from './timestamp.ts'

export const EVENT_TYPES = [
  'message_value',
  'engine_started',
  'engine_degraded',
  'engine_recovered',
  'flow_saved',
  'flow_deleted',
  'flow_renamed',
  'flow_enabled',
  'flow_disabled',
  'flow_purged',
  'node_error',
  'node_acknowledged',
  'node_down',
  'node_up',
  'node_promoted',
  'node_demoted',
  'node_log',
  'cycle_broken',
  'cascade_rerun',
  'values_dropped',
  'thread_replaced',
  'thread_silent',
  'thread_answers',
  'disk_full',
  'disk_failed',
  'database_lost',
  'data_damaged',
  'disk_recovered',
  'run_created',
  'run_started',
  'run_finished',
  'run_cancel_requested',
  'run_changed',
  'run_node',
  'run_metric',
  'node_queued',
  'flavor_changed',
  'artifacts_swept',
  'clock_changed',
  'audit',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

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

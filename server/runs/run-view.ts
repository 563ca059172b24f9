import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import { formatTime } from '../../protocol/time.ts'
import type { NewRun, StoredRun } from '../store/front/runs.ts'

export const eventOf = (
  type: EventType,
  flow: string,
  now_us: number,
  more: Record<string, unknown> & { run: string },
): EngineEvent => ({
  type,
  ts: formatTime(now_us),
  flow,
  ...more,
})

/** A run as the store has just written it. */
export const queuedRun = ({ given: _, ...run }: NewRun, created_at: number): StoredRun => ({
  ...run,
  status: 'queued',
  code_commit: null,
  code_digest: null,
  result: null,
  terminal: [],
  error: null,
  created_at,
  started_at: null,
  finished_at: null,
  cancel_requested_at: null,
})

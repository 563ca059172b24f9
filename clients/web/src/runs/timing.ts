import type { Run, RunNode } from '../../../../protocol/nouns/run.ts'

type Times = Pick<RunNode, 'queued_at' | 'started_at' | 'finished_at'>

/** When a node waited and ran, as shares of the whole run. */
export interface Bar {
  readonly queued: number
  readonly waits: number
  readonly starts: number
  readonly runs: number
  readonly waited_s: number
}

const secondsFrom = (from: string, to_ms: number): number => Math.max(0, (to_ms - Date.parse(from)) / 1000)

/** From the start of the run to its end, or to now. */
export const totalSeconds = (
  { started_at, created_at }: Pick<Run, 'started_at' | 'created_at'>,
  end_ms: number,
): number => Math.max(1e-6, secondsFrom(started_at ?? created_at, end_ms))

/** Null for a node that never began. */
export function barOf(
  { queued_at, started_at, finished_at }: Times,
  run: Pick<Run, 'started_at' | 'created_at'>,
  end_ms: number,
  total_s: number,
): Bar | null {
  const begin = run.started_at ?? run.created_at
  if (queued_at === null && started_at === null) return null
  const share = (at_ms: number): number => Math.min(1, secondsFrom(begin, at_ms) / total_s)
  const queued_ms = Date.parse(queued_at ?? started_at!)
  const started_ms = started_at === null ? end_ms : Date.parse(started_at)
  const finished_ms = finished_at === null ? end_ms : Date.parse(finished_at)
  return {
    queued: share(queued_ms),
    waits: Math.max(0, share(started_ms) - share(queued_ms)),
    starts: share(started_ms),
    runs: started_at === null ? 0 : Math.max(0, share(finished_ms) - share(started_ms)),
    waited_s: Math.max(0, (started_ms - queued_ms) / 1000),
  }
}

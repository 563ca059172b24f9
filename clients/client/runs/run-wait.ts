import type { Run, RunStatus } from '../../../protocol/nouns/run.ts'
import { pause } from '../calls.ts'
import { ClientError } from '../client-error.ts'

export interface WaitOptions {
  /** Ends the waiting, not the run; the reason is thrown. */
  signal?: AbortSignal
  /** Called with every answer. */
  onPoll?: (run: Run) => void
}

/** `once`: no second try. */
export interface Attempt {
  signal?: AbortSignal
  once?: boolean
}

export const signalOf = ({ signal }: { signal?: AbortSignal }): { signal?: AbortSignal } =>
  signal === undefined ? {} : { signal }

const POLL_MS_MIN = 50
const POLL_MS_MAX = 1_000
/** Between failed polls: a restarted engine is back within a few seconds. */
const FAILED_POLL_MS = 1_000
const FAILED_POLLS = 5

const LIVE: readonly RunStatus[] = ['queued', 'running']
export const hasEnded = ({ status }: Pick<Run, 'status'>): boolean => !LIVE.includes(status)
/** It ended, and has no result. */
export const isFailed = ({ status }: Pick<Run, 'status'>): boolean => status === 'failed' || status === 'cancelled'

/** Counts polls that failed in a row; `failed` throws when it was one too many, or when no later one can do better. */
export class Tolerance {
  #failed = 0

  succeeded(): void {
    this.#failed = 0
  }

  failed(error: unknown): void {
    this.#failed++
    const isRefused =
      error instanceof ClientError && error.status !== null && error.status < 500 && error.status !== 429
    if (!(error instanceof ClientError) || isRefused || this.#failed > FAILED_POLLS) throw error
  }
}

/** Asks again and again, less and less often. Five failed polls in a row are borne; a run that is not there is told at once. */
export async function waitForRun(poll: () => Promise<Run>, { signal, onPoll }: WaitOptions): Promise<Run> {
  const tolerance = new Tolerance()
  let wait_ms = POLL_MS_MIN
  for (;;) {
    try {
      const run = await poll()
      tolerance.succeeded()
      onPoll?.(run)
      if (hasEnded(run)) return run
      wait_ms = Math.min(POLL_MS_MAX, wait_ms * 1.5)
    } catch (error) {
      signal?.throwIfAborted()
      tolerance.failed(error)
      wait_ms = FAILED_POLL_MS
    }
    await pause(wait_ms, signal)
  }
}

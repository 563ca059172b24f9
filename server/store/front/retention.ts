import type { EngineEvent } from '../../../protocol/nouns/event.ts'

/** The parts of runs that have their own age limits and budgets; the names are those of the disk classes. */
export const RETAINED = ['runs', 'run_logs', 'run_metrics'] as const
export type RetainedClass = (typeof RETAINED)[number]

/** A run that has ended, with its size in a class. Times are microseconds since 1970. */
export interface RetainedRun {
  readonly id: string
  readonly created_at: number
  readonly finished_at: number
  readonly bytes: number
  /** The cost of its removal: the size of all that is removed with it. */
  readonly weight: number
  /** Another run reuses its nodes. */
  readonly reused: boolean
}

export interface RetainedPage {
  readonly runs: readonly RetainedRun[]
  /** Where the next page goes on; null: this was the last. */
  readonly next: number | null
}

/** Bytes and number of the runs of a class that have ended. */
export interface RetainedUse {
  readonly bytes: number
  readonly runs: number
}

export interface RetentionStore {
  use(of: RetainedClass): Promise<RetainedUse>
  /** Runs in the order of their creation. */
  page(of: RetainedClass, after: number, limit: number): Promise<RetainedPage>
  /** Removes the given runs, except those that have not ended or are reused. Resolves with the number of removed runs. */
  remove(of: RetainedClass, ids: readonly string[]): Promise<number>
  /** One audit event for each class of which something was removed since the last call. */
  tell(): Promise<EngineEvent[]>
}

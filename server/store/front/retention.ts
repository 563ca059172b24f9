import type { EngineEvent } from '../../../protocol/nouns/event.ts'

/** The parts of runs that have their own age limits and budgets; the names are those of the disk classes. */
export const RETAINED = ['runs', 'run_logs', 'run_metrics'] as const
export type RetainedClass = (typeof RETAINED)[number]

/** A run that has ended, and what of a class it has. Times are microseconds since 1970. */
export interface RetainedRun {
  readonly id: string
  readonly created_at: number
  readonly finished_at: number
  readonly bytes: number
  /** Everything that is removed with it: the cost of its removal. */
  readonly weight: number
  /** Another run reuses its nodes. */
  readonly reused: boolean
}

export interface RetainedPage {
  readonly runs: readonly RetainedRun[]
  /** Where the next page goes on; null: this was the last. */
  readonly next: number | null
}

/** Of a class: the bytes of the runs that have ended, and their number. */
export interface RetainedUse {
  readonly bytes: number
  readonly runs: number
}

export interface RetentionStore {
  use(of: RetainedClass): Promise<RetainedUse>
  /** In the order of their creation. */
  page(of: RetainedClass, after: number, limit: number): Promise<RetainedPage>
  /** Those of the runs that have ended, and that no other run reuses. Resolves with how many there were. */
  remove(of: RetainedClass, ids: readonly string[]): Promise<number>
  /** An audit event for each class of which something was removed since the last call, and is told only now. */
  tell(): Promise<EngineEvent[]>
}

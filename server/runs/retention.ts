import { limits } from '../../protocol/limits.ts'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import { RETAINED, type RetainedClass, type RetainedRun, type RetentionStore } from '../store/front/retention.ts'

/** The bounds of a class; 0 stands for no bound. */
export interface RetentionRule {
  /** Age since the end of the run. */
  readonly days: number
  readonly bytes: number
  /** Number of runs that have ended. */
  readonly count: number
}

export type RetentionRules = Readonly<Record<RetainedClass, RetentionRule>>

export interface RunRetentionParts {
  readonly rules: RetentionRules
  readonly store: RetentionStore
  /** Takes the runs out of the stage cache, and keeps them out until the returned function is called. */
  leaveCache(ids: readonly string[]): () => void
  /** The running run that reuses nodes of this one; null when there is none. */
  reuser(id: string): string | null
  /** Microseconds since 1970; never ahead of the clock. */
  age_us(): number
  /** Sends an event to watchers; the store has it already. */
  tell(event: EngineEvent): void
  failed(error: unknown): void
}

const DAY_US = 86_400_000_000
/** Runs that one read examines. */
const PAGE = 256

/** What still has to be removed. */
interface Excess {
  /** Runs that ended before this time are too old; microseconds since 1970. */
  readonly before: number
  bytes: number
  count: number
}

/**
 * Keeps runs, and the logs and metrics of runs, within ages and budgets: a pass every minute, oldest first. Runs that have not
 * ended stay. Runs whose nodes another run reuses stay as long as that run.
 *
 * A pass goes in small steps. Each is one write of the store, of at most `RETENTION_RUNS` runs and about `RETENTION_BYTES`, and
 * the next begins when it is answered, so that other writes come in between. At the end one audit event for each class tells
 * how many were removed.
 */
export class RunRetention {
  readonly #parts: RunRetentionParts
  #timer: NodeJS.Timeout | null = null
  #present: Promise<void> | null = null
  #closed = false

  constructor(parts: RunRetentionParts) {
    this.#parts = parts
  }

  /** The budget of a class in bytes, for display. */
  budget(of: RetainedClass): number | null {
    return this.#parts.rules[of].bytes || null
  }

  start(): void {
    this.#timer = setInterval(() => this.pass().catch(error => this.#parts.failed(error)), limits.RETENTION_EVERY_MS)
    this.#timer.unref()
  }

  /** One at a time: a call during a pass gets the same promise. */
  pass(): Promise<void> {
    this.#present ??= this.#pass().finally(() => (this.#present = null))
    return this.#present
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearInterval(this.#timer)
    await this.#present?.catch(() => {})
  }

  async #pass(): Promise<void> {
    let removed = 0
    try {
      for (const of of RETAINED) removed += await this.#hold(of)
    } finally {
      if (removed > 0) for (const event of await this.#parts.store.tell()) this.#parts.tell(event)
    }
  }

  async #hold(of: RetainedClass): Promise<number> {
    const { rules, store, age_us } = this.#parts
    const { days, bytes, count } = rules[of]
    if (days === 0 && bytes === 0 && count === 0) return 0
    const use = await store.use(of)
    const excess: Excess = {
      before: days === 0 ? 0 : age_us() - days * DAY_US,
      bytes: bytes === 0 ? 0 : use.bytes - bytes,
      count: count === 0 ? 0 : use.runs - count,
    }
    let removed = 0
    let after: number | null = 0
    while (after !== null && !this.#closed) {
      if (excess.before === 0 && excess.bytes <= 0 && excess.count <= 0) break
      const page = await store.page(of, after, PAGE)
      for (const ids of batches(this.#picked(page.runs, excess))) removed += await this.#remove(of, ids)
      // All following runs are younger.
      const isYoung = excess.bytes <= 0 && excess.count <= 0 && (page.runs.at(-1)?.created_at ?? 0) >= excess.before
      after = isYoung ? null : page.next
    }
    return removed
  }

  #picked(runs: readonly RetainedRun[], excess: Excess): RetainedRun[] {
    return runs.filter(({ id, finished_at, bytes, reused }) => {
      if (finished_at >= excess.before && excess.bytes <= 0 && excess.count <= 0) return false
      if (reused || this.#parts.reuser(id) !== null) return false
      excess.bytes -= bytes
      excess.count--
      return true
    })
  }

  async #remove(of: RetainedClass, ids: readonly string[]): Promise<number> {
    if (this.#closed) return 0
    if (of === 'run_logs') return this.#parts.store.remove(of, ids)
    const back = this.#parts.leaveCache(ids)
    try {
      // Checked again, because a run that began meanwhile may reuse them.
      const unused = ids.filter(id => this.#parts.reuser(id) === null)
      return await this.#parts.store.remove(of, unused)
    } finally {
      back()
    }
  }
}

function* batches(runs: readonly RetainedRun[]): Iterable<string[]> {
  let ids: string[] = []
  let bytes = 0
  for (const { id, weight } of runs) {
    if (ids.length === limits.RETENTION_RUNS || (ids.length > 0 && bytes + weight > limits.RETENTION_BYTES)) {
      yield ids
      ids = []
      bytes = 0
    }
    ids.push(id)
    bytes += weight
  }
  if (ids.length > 0) yield ids
}

import { limits } from '../../protocol/limits.ts'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import { RETAINED, type RetainedClass, type RetainedRun, type RetentionStore } from '../store/front/retention.ts'

/** What a class is held to; 0: nothing. */
export interface RetentionRule {
  /** Since the end of the run. */
  readonly days: number
  readonly bytes: number
  /** Of runs that have ended. */
  readonly count: number
}

export type RetentionRules = Readonly<Record<RetainedClass, RetentionRule>>

export interface RunRetentionParts {
  readonly rules: RetentionRules
  readonly store: RetentionStore
  /** The stage cache has nothing of the runs until the returned function is called, and nothing that it had. */
  leaveCache(ids: readonly string[]): () => void
  /** The run that executes and reuses nodes of this one; null without one. */
  reuser(id: string): string | null
  /** Microseconds since 1970; never ahead of the clock. */
  age_us(): number
  /** To those who watch; the store has it already. */
  tell(event: EngineEvent): void
  failed(error: unknown): void
}

const DAY_US = 86_400_000_000
/** Runs that one read looks at. */
const PAGE = 256

/** What has to go yet. */
interface Excess {
  /** Runs that ended before are too old; microseconds since 1970. */
  readonly before: number
  bytes: number
  count: number
}

/**
 * Holds runs, and the logs and metrics of runs, to ages and budgets: a pass every minute, the oldest first. Runs that have not
 * ended stay, and so do runs whose nodes another run reuses; when that one has gone, a later pass takes them.
 *
 * A pass goes in small steps. Each is one write of the store, of at most `RETENTION_RUNS` runs and about `RETENTION_BYTES`, and
 * the next begins when it is answered, so that everything else gets its turn in between. At its end one audit event for each class says
 * how many went.
 */
export class RunRetention {
  readonly #parts: RunRetentionParts
  #timer: NodeJS.Timeout | null = null
  #present: Promise<void> | null = null
  #closed = false

  constructor(parts: RunRetentionParts) {
    this.#parts = parts
  }

  /** What shows as the budget of a class. */
  budget(of: RetainedClass): number | null {
    return this.#parts.rules[of].bytes || null
  }

  start(): void {
    this.#timer = setInterval(() => this.pass().catch(error => this.#parts.failed(error)), limits.RETENTION_EVERY_MS)
    this.#timer.unref()
  }

  /** One at a time: whoever asks while one is under way gets that one. */
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
      // From here on all were created after the age.
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
      // Again: one that began meanwhile may have found them.
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

import { limits } from '../../protocol/limits.ts'

/** How soon a thread that died may be started again: at once the first time, later each time within a minute, at last not at all. */
export class RestartPace {
  #deaths_ms: number[] = []

  /** The pause before the next start; null: it has died too often. */
  died(now_ms: number): number | null {
    this.#deaths_ms = [...this.#deaths_ms.filter(at => now_ms - at < limits.THREAD_RESTART_WITHIN_MS), now_ms]
    const deaths = this.#deaths_ms.length
    if (deaths > limits.RESTARTS_PER_MINUTE) return null
    return deaths === 1 ? 0 : limits.THREAD_RESTART_AFTER_MS * 2 ** (deaths - 1)
  }
}

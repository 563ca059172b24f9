import { limits } from '../../protocol/limits.ts'
import type { CallMetric } from '../../threads/lane/messages.ts'
import type { MetricPoint } from '../store/front/runs.ts'
import type { NodeRecord } from './node-record.ts'

/** The bounds of one run. */
export interface MetricBounds {
  readonly names: number
  readonly points: number
}

/**
 * The points of a run that wait to be written, and their bounds. Points over a bound of the run are dropped and counted at
 * their node; the run does not fail. While many wait, bodies are not told that their points are taken, and so are blocked.
 */
export class RunMetrics {
  readonly #bounds: MetricBounds
  /** The next step of each curve, by name. */
  readonly #steps = new Map<string, number>()
  #points: MetricPoint[] = []
  /** Number of points that were taken and are not written yet. */
  #on_their_way = 0
  #count = 0
  /** Called when there is room for more points of a body. */
  #taken: (() => void)[] = []

  constructor(bounds: MetricBounds = { names: limits.METRIC_NAMES_PER_RUN, points: limits.METRIC_POINTS_PER_RUN }) {
    this.#bounds = bounds
  }

  /** `taken` is called when there is room for more. Returns how many were dropped. */
  add(record: NodeRecord, points: readonly CallMetric[], taken: () => void): number {
    let dropped = 0
    for (const { name, value, step } of points) {
      const full = `${record.node.id}.${name}`
      const next = this.#steps.get(full)
      if (this.#count >= this.#bounds.points || (next === undefined && this.#steps.size >= this.#bounds.names)) {
        dropped++
        continue
      }
      const at = step ?? next ?? 0
      this.#steps.set(full, at + 1)
      this.#points.push({ name: full, step: at, value })
      this.#count++
    }
    this.#taken.push(taken)
    this.#goOn()
    return dropped
  }

  get waiting(): number {
    return this.#points.length
  }

  /** The oldest points for one write, or all with `all`. */
  take(all: boolean): MetricPoint[] {
    const points = this.#points
    const count = all ? points.length : Math.min(points.length, limits.METRIC_POINTS_WRITE)
    this.#points = points.slice(count)
    this.#on_their_way += count
    return count === points.length ? points : points.slice(0, count)
  }

  written(points: number): void {
    this.#on_their_way -= points
    this.#goOn()
  }

  /** Releases all bodies that wait. */
  end(): void {
    for (const taken of this.#taken.splice(0)) taken()
  }

  #goOn(): void {
    if (this.#points.length + this.#on_their_way < limits.METRIC_POINTS_WAITING) this.end()
  }
}

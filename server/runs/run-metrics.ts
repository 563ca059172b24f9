import { limits } from '../../protocol/limits.ts'
import type { CallMetric } from '../../threads/lane/messages.ts'
import type { MetricPoint } from '../store/front/runs.ts'
import type { NodeRecord } from './node-record.ts'

/** Of one run. */
export interface MetricBounds {
  readonly names: number
  readonly points: number
}

/**
 * The points of a run that wait to be written, and the bounds on them. What is over a bound of the run is dropped and counted at
 * its node: a run does not fail of what it measured. While many wait, bodies are not told that theirs are taken, and are blocked.
 */
export class RunMetrics {
  readonly #bounds: MetricBounds
  /** The step after the last, by name. */
  readonly #steps = new Map<string, number>()
  #points: MetricPoint[] = []
  /** Points that were taken out and are not written yet. */
  #on_their_way = 0
  #count = 0
  /** Bodies that may send more when there is room. */
  #taken: (() => void)[] = []

  constructor(bounds: MetricBounds = { names: limits.METRIC_NAMES_PER_RUN, points: limits.METRIC_POINTS_PER_RUN }) {
    this.#bounds = bounds
  }

  /** `taken` is called once there is room for more. Answers how many were dropped. */
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

  /** At most what one write may hold, the oldest first; `all`: whatever waits. */
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

  /** Nobody is to wait any more. */
  end(): void {
    for (const taken of this.#taken.splice(0)) taken()
  }

  #goOn(): void {
    if (this.#points.length + this.#on_their_way < limits.METRIC_POINTS_WAITING) this.end()
  }
}

import { limits } from '../../protocol/limits.ts'
import type { CallMetric } from '../../threads/lane/messages.ts'
import type { MetricPoint } from '../store/front/runs.ts'
import type { NodeRecord } from './node-record.ts'

/** The points of a run that wait to be written, and the bounds on them. */
export class RunMetrics {
  /** The step after the last, by name. */
  readonly #steps = new Map<string, number>()
  #points: MetricPoint[] = []
  /** Points that were taken and are not written yet. */
  #on_their_way = 0

  /** What is wrong with them, in words; null when they were taken. */
  add(record: NodeRecord, points: readonly CallMetric[]): string | null {
    if (this.#points.length + this.#on_their_way + points.length > limits.METRIC_POINTS_WAITING)
      return `more than ${limits.METRIC_POINTS_WAITING} points of a run wait to be written`
    for (const { name, value, step } of points) {
      const full = `${record.node.id}.${name}`
      const next = this.#steps.get(full)
      if (next === undefined && this.#steps.size >= limits.METRIC_NAMES_PER_RUN)
        return `a run has at most ${limits.METRIC_NAMES_PER_RUN} metric names`
      const at = step ?? next ?? 0
      this.#steps.set(full, at + 1)
      this.#points.push({ name: full, step: at, value })
    }
    return null
  }

  get waiting(): number {
    return this.#points.length
  }

  take(): MetricPoint[] {
    const points = this.#points
    this.#points = []
    this.#on_their_way += points.length
    return points
  }

  written(points: number): void {
    this.#on_their_way -= points
  }
}

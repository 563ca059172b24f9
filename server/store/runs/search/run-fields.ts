import { pathsOf, type RunField, valueAt } from '../../../../core/runs/run-query.ts'
import { formatTime } from '../../../../protocol/time.ts'
import type { Connection, Statement } from '../../file/database.ts'
import { readable } from '../../file/unreadable.ts'
import type { RunCurves } from '../curves.ts'
import { ELSEWHERE } from '../documents.ts'
import type { SelectedRun } from '../selection.ts'

interface FieldRow {
  seed: number | null
  created_at: number
  started_at: number | null
  finished_at: number | null
  resolved: string | null
  given: string | null
  result: string | null
}

interface Metric {
  /** `<flow>.<node>.<name>` */
  full: string
  /** Without the flow. */
  name: string
  value: number
}

/** Values of runs by field. Columns that no field needs are not read. */
export class RunFields {
  readonly #row: Statement<FieldRow>
  readonly #curves: RunCurves
  readonly #fields: readonly RunField[]
  readonly #now_us: number
  readonly #hasMetrics: boolean
  /** The metrics that a field stood for, without their flow, by the text of the field. */
  readonly metrics = new Map<string, Set<string>>()

  constructor(db: Connection, curves: RunCurves, fields: readonly RunField[], now_us: number) {
    const has = (kind: RunField['kind']): boolean => fields.some(field => field.kind === kind)
    const wanted = (kind: RunField['kind'], column: string): string => (has(kind) ? column : 'NULL')
    // Of a long value only the part that lists show is read.
    this.#row = db.prepare(
      `SELECT seed, created_at, started_at, finished_at, ${wanted('input', 'resolved')} AS resolved,
       ${wanted('input', `CASE resolved WHEN '${ELSEWHERE}' THEN coalesce(inputs_summary, inputs) END`)} AS given,
       ${wanted('result', 'coalesce(result_summary, result)')} AS result FROM runs WHERE seq = ?`,
    )
    this.#curves = curves
    this.#fields = fields
    this.#now_us = now_us
    this.#hasMetrics = has('metric')
  }

  /** The values in the order of the fields; null when the run was deleted. */
  of(run: SelectedRun): unknown[] | null {
    const row = this.#row.get(run.seq)
    if (row === undefined) return null
    const tree = (text: string | null): unknown =>
      text === null ? null : readable('runs', { seq: run.seq }, () => JSON.parse(text) as unknown)
    const inputs = tree(row.given ?? row.resolved)
    const result = tree(row.result)
    const curves = this.#hasMetrics ? this.#metricsOf(run) : []
    const valueOfField = (field: RunField): unknown => {
      switch (field.kind) {
        case 'input':
          return valueAt(inputs, field.path)
        case 'result':
          return valueAt(result, field.path)
        case 'metric':
          return this.#metric(field, curves)
        case 'seed':
          return row.seed ?? undefined
        case 'created_at':
          return formatTime(row.created_at)
        default:
          return row.started_at === null ? undefined : ((row.finished_at ?? this.#now_us) - row.started_at) / 1e6
      }
    }
    return this.#fields.map(valueOfField)
  }

  /** The names of a kind that the runs have, for a refusal. */
  names(runs: readonly SelectedRun[], kind: 'input' | 'result' | 'metric'): string[] {
    const names = new Set<string>()
    for (const run of runs) {
      const row = this.#row.get(run.seq)
      if (row === undefined) continue
      if (kind === 'metric') for (const { name } of this.#metricsOf(run)) names.add(name)
      else {
        const text = kind === 'input' ? (row.given ?? row.resolved) : row.result
        if (text !== null) for (const path of pathsOf(JSON.parse(text))) names.add(path)
      }
    }
    return [...names].sort()
  }

  #metricsOf(run: SelectedRun): Metric[] {
    const flow = this.#curves.flowName(run.flow).length + 1
    return this.#curves
      .of(run)
      .map(({ name, last_value }) => ({ full: name, name: name.slice(flow), value: last_value }))
  }

  /** Finds a metric by its name with the flow, without the flow, or by the end of the name behind a dot. */
  #metric(field: RunField, curves: readonly Metric[]): number | undefined {
    const { path, text } = field
    const whole = curves.filter(({ full, name }) => full === path || name === path)
    const found = whole.length > 0 ? whole : curves.filter(({ name }) => name.endsWith(`.${path}`))
    const [one] = found
    if (one === undefined) return undefined
    let stood = this.metrics.get(text)
    if (stood === undefined) this.metrics.set(text, (stood = new Set()))
    for (const { name } of found) stood.add(name)
    return one.value
  }
}

import type { Connection, Statement } from '../file/database.ts'
import type { SeriesRequest, StoredSeries, StoredSeriesPage } from '../front/runs.ts'
import { decodeChunk, type MetricColumns } from './metric-chunk.ts'
import { shownName } from './rows.ts'
import type { SelectedRun } from './selection.ts'

/** A curve of a run, and where its points are stored: with the run itself, or with the run whose node it reuses. */
export interface Curve {
  /** `<flow>.<node>.<name>`, of the run that reads it. */
  name: string
  /** Row numbers of the run that recorded it and of its name there. */
  run: number
  id: number
  chunks: number
  last_value: number
}

interface HeadRow {
  id: number
  name: string
  chunks: number
  last_value: number
}
interface CachedRow {
  node: string
  cache_key: string | null
  cached_from: string
}

/**
 * The only place that finds the curves of a run: those that its nodes recorded, and for each cached node those that the node with
 * the same cache key recorded in the run that executed it, renamed to the node of this run. It reads the database
 * in the caller's snapshot, if there is one.
 */
export class RunCurves {
  readonly #flowName: Statement<string>
  readonly #heads: Statement<HeadRow>
  readonly #cached: Statement<CachedRow>
  readonly #origin: Statement<number>
  readonly #originNode: Statement<string>
  readonly #chunk: Statement<{ count: number; bytes: Buffer }>
  readonly #points: Statement<number | null>

  constructor(db: Connection) {
    const pluck = <Value>(sql: string): Statement<Value> => db.prepare(sql).pluck() as Statement<Value>
    this.#flowName = pluck('SELECT name FROM flows WHERE id = ?')
    this.#heads = db.prepare(
      `SELECT m.name AS id, (SELECT n.name FROM metric_names n WHERE n.id = m.name) AS name, m.chunks, m.last_value
       FROM run_metrics m WHERE m.run = ?`,
    )
    this.#cached = db.prepare(
      `SELECT node, cache_key, cached_from FROM run_nodes WHERE run = ? AND status = 'cached' AND cached_from IS NOT NULL`,
    )
    this.#origin = pluck('SELECT seq FROM runs WHERE id = ?')
    this.#originNode = pluck(
      `SELECT node FROM run_nodes INDEXED BY run_nodes_by_key WHERE run = ? AND cache_key = ? AND status = 'succeeded'
       ORDER BY node = ? DESC, position LIMIT 1`,
    )
    this.#points = pluck('SELECT sum(count) FROM metric_chunks WHERE run = ? AND name = ?')
    this.#chunk = db.prepare('SELECT count, bytes FROM metric_chunks WHERE run = ? AND name = ? AND chunk = ?')
  }

  /** The curves of a run, sorted by name; with `only` just the one of that name. */
  of(run: SelectedRun, only: string | null = null): Curve[] {
    const prefix = `${this.flowName(run.flow)}.`
    if (only !== null && !only.startsWith(prefix)) return []
    const own = this.#heads.all(run.seq).map(head => curveOf(run.seq, prefix + head.name, head))
    return [...own, ...this.reused(run)]
      .filter(({ name }) => only === null || name === only)
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  }

  /** Only the curves of its cached nodes. */
  reused({ seq, flow }: SelectedRun): Curve[] {
    const cached = this.#cached.all(seq)
    if (cached.length === 0) return []
    const prefix = `${this.flowName(flow)}.`
    const origins = new Map<string, Origin>()
    return cached.flatMap(({ node, cache_key, cached_from }) => {
      let origin = origins.get(cached_from)
      if (!origin) origins.set(cached_from, (origin = this.#originOf(cached_from)))
      // Most nodes record nothing; then the original node need not be found.
      if (origin.byNode.size === 0) return []
      const recorded = (cache_key === null ? undefined : this.#originNode.get(origin.run, cache_key, node)) ?? node
      const heads = origin.byNode.get(recorded) ?? []
      return heads.map(head => curveOf(origin.run, prefix + node + head.name.slice(recorded.length), head))
    })
  }

  flowName(flow: number): string {
    return shownName(this.#flowName.get(flow) ?? '')
  }

  /** Number of points with the given stride. */
  points(curve: Curve, stride: number): number {
    return Math.ceil((this.#points.get(curve.run, curve.id) ?? 0) / stride)
  }

  /** The chunks of its points in order of recording. In each, the points from `first` on in steps of `stride` count; the first `skip` of all are left out. */
  *chunks(curve: Curve, stride: number, skip = 0): Iterable<MetricColumns & { first: number }> {
    let before = 0
    let left = skip
    for (let chunk = 0; chunk < curve.chunks; chunk++) {
      const { count, bytes } = this.#chunk.get(curve.run, curve.id, chunk)!
      const first = (stride - (before % stride)) % stride
      before += count
      const points = first < count ? Math.ceil((count - first) / stride) : 0
      if (points > left) yield { ...decodeChunk(bytes, count), first: first + left * stride }
      left = Math.max(0, left - points)
    }
  }

  #originOf(id: string): Origin {
    const run = this.#origin.get(id) ?? 0
    return { run, byNode: Map.groupBy(this.#heads.all(run), ({ name }) => name.slice(0, name.indexOf('.'))) }
  }
}

interface Origin {
  run: number
  byNode: Map<string, HeadRow[]>
}

const curveOf = (run: number, name: string, { id, chunks, last_value }: HeadRow): Curve => ({
  name,
  run,
  id,
  chunks,
  last_value,
})

/** About the bytes of the JSON of a series without its points. */
const SERIES_BYTES = 64

/** Collects points of curves for one page of series, from an offset on, while there is room. */
export class SeriesPage {
  readonly #offset: number
  readonly #items: StoredSeries[] = []
  #to_skip: number
  #left: number
  #left_bytes: number
  #taken = 0
  /** Points of the present curve that an earlier page has. */
  skipped = 0
  #run = ''
  #name = ''
  #series: StoredSeries | null = null

  constructor({ offset, limit, bytes = Number.POSITIVE_INFINITY }: SeriesRequest) {
    this.#offset = offset
    this.#to_skip = offset
    this.#left = limit
    this.#left_bytes = bytes
  }

  /** False: an earlier page has all `points` of it. */
  begins(run: string, name: string, points: () => number): boolean {
    this.#run = run
    this.#name = name
    this.#series = null
    this.skipped = 0
    if (this.#to_skip === 0) return true
    const all = points()
    this.skipped = this.#to_skip
    this.#to_skip = Math.max(0, this.#to_skip - all)
    return all > this.skipped
  }

  /** False: there is no room for it. */
  takes(step: number, value: number): boolean {
    const head = this.#series === null ? SERIES_BYTES + this.#run.length + Buffer.byteLength(this.#name) : 0
    const bytes = head + `${step}`.length + `${value}`.length + 2
    if (this.#left === 0 || (this.#taken > 0 && bytes > this.#left_bytes)) return false
    if (this.#series === null) {
      this.#series = { run: this.#run, name: this.#name, steps: [], values: [] }
      this.#items.push(this.#series)
    }
    this.#series.steps.push(step)
    this.#series.values.push(value)
    this.#left--
    this.#left_bytes -= bytes
    this.#taken++
    return true
  }

  end(hasMore: boolean): StoredSeriesPage {
    return { items: this.#items, next: hasMore ? this.#offset + this.#taken : null }
  }
}

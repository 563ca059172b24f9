import { limits } from '../../protocol/limits.ts'
import type { MetricSeries, MetricSeriesList } from '../../protocol/nouns/run.ts'
import type { Calls } from './calls.ts'
import { type Export, type ExportForm, openExport } from './exports/exports.ts'
import { type List, readPages } from './pages.ts'
import type { RunSelection } from './runs/runs.ts'

export interface SeriesOptions {
  /** `<flow>.<node>.<name>`; every series when not given. */
  name?: string
  /** Every n-th point of each series, its first among them. */
  stride?: number
}

interface MetricNamesPage extends List<string> {
  /** There are runs older than this. */
  before?: string
}

/** A series that had no room on one page goes on on the next. */
function append(items: MetricSeries[], series: MetricSeries): void {
  const last = items.at(-1)
  if (last === undefined || last.run !== series.run || last.name !== series.name) {
    items.push(series)
    return
  }
  last.steps = last.steps.concat(series.steps)
  last.values = last.values.concat(series.values)
}

/** What bodies of batch runs measured. */
export class Metrics {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** The names that the selected runs carry, sorted. One request reads a bounded number of runs; older ones follow. */
  async names(selection: RunSelection = {}): Promise<List<string>> {
    const names = new Set<string>()
    let { before } = selection
    for (;;) {
      const query = { ...selection, before }
      const page = await readPages<string, MetricNamesPage>(this.#calls, '/runs/metrics/names', query)
      for (const name of page.items) names.add(name)
      if (page.before === undefined) return { items: [...names].sort(), count: names.size }
      before = page.before
    }
  }

  /** Curves of the selected runs, or of `run` alone. */
  async series(
    selection: RunSelection & { run?: string } = {},
    options: SeriesOptions = {},
  ): Promise<List<MetricSeries>> {
    const items: MetricSeries[] = []
    for (let offset: number | undefined = 0; offset !== undefined && offset <= limits.LIST_OFFSET; ) {
      const query = { ...selection, ...options, offset }
      const page: MetricSeriesList = await this.#calls.get('/runs/metrics/series', query)
      for (const series of page.items) append(items, series)
      offset = page.next
    }
    return { items, count: items.length }
  }

  /** A row per run, metric and step. */
  export(selection: RunSelection = {}, form: ExportForm & SeriesOptions = {}): Promise<Export> {
    const { name, stride } = form
    const query = { ...selection, name, stride }
    return openExport(this.#calls, { path: '/runs/metrics/export', query, form, parquet: 'metricsParquet' })
  }
}

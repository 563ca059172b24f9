import type { MetricSeriesList } from '../../protocol/nouns/run.ts'
import type { Calls } from './calls.ts'
import { type Export, type ExportForm, openExport } from './exports/exports.ts'
import type { List } from './pages.ts'
import type { RunSelection } from './runs/runs.ts'

export interface SeriesOptions {
  /** `<flow>.<node>.<name>`; every series when not given. */
  name?: string
  /** Every so manieth point of each series, its first among them. */
  stride?: number
}

/** What bodies of batch runs measured. */
export class Metrics {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** The names that the selected runs carry. */
  names(selection: RunSelection = {}): Promise<List<string>> {
    return this.#calls.get('/runs/metrics/names', { ...selection })
  }

  /** Curves of the selected runs, or of `run` alone. */
  series(selection: RunSelection & { run?: string } = {}, options: SeriesOptions = {}): Promise<MetricSeriesList> {
    return this.#calls.get('/runs/metrics/series', { ...selection, ...options })
  }

  /** A row per run, metric and step. */
  export(selection: RunSelection = {}, form: ExportForm & SeriesOptions = {}): Promise<Export> {
    const { name, stride } = form
    const query = { ...selection, name, stride }
    return openExport(this.#calls, { path: '/runs/metrics/export', query, form, parquet: 'metricsParquet' })
  }
}

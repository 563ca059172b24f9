import { exportText } from './export-text.ts'
import type { ExportMetricsRequest } from './records.ts'
import type { RunCurves } from './run-curves.ts'
import type { SelectedRun } from './run-selection.ts'

/** Runs that are looked at before an empty page says that it goes on. */
const LOOK_RUNS = 200
/** Rows that are written before the length of the page is looked at again. */
const PIECE_ROWS = 256

/** The pages of a metrics export: a row per run, curve and step. Between two of them it holds nothing of the database. */
export function* metricPages(
  runs: readonly SelectedRun[],
  curves: RunCurves,
  request: ExportMetricsRequest,
  page_characters: number,
): Generator<string> {
  const text = exportText(['run', 'name', 'step', 'value'], request)
  let page = text.head
  let looked = 0
  for (const run of runs) {
    for (const curve of curves.of(run, request.name)) {
      const row = text.numbersAfter([run.id, curve.name])
      for (const { steps, values, first } of curves.chunks(curve, request.stride)) {
        const piece = PIECE_ROWS * request.stride
        for (let from = first; from < steps.length; from += piece) {
          page += rows(row, steps, values, from, Math.min(from + piece, steps.length), request.stride)
          if (page.length < page_characters) continue
          yield page
          page = ''
          looked = 0
        }
      }
    }
    if (++looked < LOOK_RUNS) continue
    yield page
    page = ''
    looked = 0
  }
  yield page
}

function rows(
  { before, between, after }: { before: string; between: string; after: string },
  steps: Float64Array,
  values: Float64Array,
  from: number,
  to: number,
  stride: number,
): string {
  let text = ''
  for (let i = from; i < to; i += stride) text += before + steps[i]! + between + values[i]! + after
  return text
}

import type { ExportMetricsRequest } from '../front/runs.ts'
import type { RunCurves } from './curves.ts'
import type { ExportPage } from './export-page.ts'
import { exportText } from './export-text.ts'
import type { SelectedRun } from './selection.ts'

/** Runs that are read before an empty page lets other reads in. */
const LOOK_RUNS = 200
/** Rows that are encoded together. */
const PIECE_ROWS = 256

/** The pages of a metrics export: a row per run, curve and step. Between two of them it holds nothing of the database. */
export function* metricPages(
  runs: readonly SelectedRun[],
  curves: RunCurves,
  request: ExportMetricsRequest,
  page: ExportPage,
): Generator<Uint8Array<ArrayBuffer>> {
  const text = exportText(['run', 'name', 'step', 'value'], request)
  page.add(text.head)
  let looked = 0
  for (const run of runs) {
    for (const curve of curves.of(run, request.name)) {
      const row = text.numbersAfter([run.id, curve.name])
      for (const { steps, values, first } of curves.chunks(curve, request.stride)) {
        const piece = PIECE_ROWS * request.stride
        for (let from = first; from < steps.length; from += piece) {
          page.add(rows(row, steps, values, from, Math.min(from + piece, steps.length), request.stride))
          if (!page.isFull) continue
          yield page.take()
          looked = 0
        }
      }
    }
    if (++looked < LOOK_RUNS) continue
    yield page.take()
    looked = 0
  }
  yield page.take()
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

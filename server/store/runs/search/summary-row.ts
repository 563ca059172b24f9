import type { RunSummary } from '../../../../protocol/nouns/run.ts'
import { readable } from '../../file/unreadable.ts'
import { headOf, type SummaryRow } from '../rows.ts'
import { shownSummary } from '../run-summary.ts'

/** A row of a list. */
export const summaryOf = (row: SummaryRow, now_us: number): RunSummary => {
  const { seq, inputs, result } = row
  const values = { inputs, inputs_cut: row.inputs_cut === 1, result, result_cut: row.result_cut === 1 }
  return readable('runs', { seq }, () => shownSummary(headOf(row), values, now_us))
}

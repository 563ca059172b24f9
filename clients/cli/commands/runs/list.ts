import type { Command } from 'commander'
import type { ListedRun } from '../../../client/runs/runs.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { shortTime } from '../../output/figures.ts'
import { params, took } from '../../output/run-text.ts'
import { fieldsOf, runsTable, varyingInputs } from '../../output/runs-table.ts'
import { shortRuns } from '../../output/short-ids.ts'
import type { Column } from '../../output/table.ts'
import { addSelection, collected, type SelectionOptions, selectionOf } from '../../selection.ts'

const SHOWN = 20
const PAGE = 500

export function addRunsList(runs: Command, context: Context): void {
  addSelection(runs.command('list', { isDefault: true }).description('list runs, the newest first'))
    .option('--where <comparison>', "only runs that fit, such as 'input.lr<0.1'; may be repeated", collected)
    .option('--sort <field>', 'the order, such as metric.loss; -metric.loss puts the greatest first')
    .option('--columns <fields>', 'the columns to show first, separated by commas, such as metric.loss,input.lr')
    .option('--limit <count>', `print at most this many (default: ${SHOWN})`, countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (flow: string | undefined, options: SelectionOptions & ListOptions, command: Command) => {
      const { output } = context
      const most = options.limit ?? SHOWN
      const client = connect(context, command)
      const { where, sort, columns } = options
      const selection = {
        ...selectionOf(flow, options),
        ...(where === undefined ? {} : { where }),
        ...(sort === undefined ? {} : { sort }),
        ...(columns === undefined ? {} : { columns }),
      }
      const { count, counts, truncated } = await client.runs.page(selection, 1)
      const items: ListedRun[] = []
      for await (const run of client.runs.list(selection, Math.min(most, PAGE))) if (items.push(run) >= most) break
      if (options.json) return output.json({ items, count, counts })
      if (items.length === 0) return output.note('no runs match; start one with "svc run <flow>"')
      output.table(linesOf(items, columns, output.width))
      if (count > items.length) output.note(`${items.length} of ${count}; --limit shows more`)
      if (truncated) output.note('there are older runs, which were not looked at; narrow the selection with --before')
    })
}

interface ListOptions {
  readonly where?: string[]
  readonly sort?: string
  readonly columns?: string
  readonly limit?: number
  readonly json?: boolean
}

function linesOf(items: readonly ListedRun[], columns: string | undefined, width: number | undefined): string[] {
  const flows = new Set(items.map(({ flow }) => flow))
  // Inputs of different flows are not comparable.
  const varying = flows.size === 1 ? varyingInputs(items) : []
  const short = width === undefined ? null : shortRuns(items.map(({ id }) => id))
  const same = (run: ListedRun): Record<string, unknown> =>
    Object.fromEntries(Object.entries(run.inputs).filter(([name]) => !varying.includes(name)))
  const onlyIf = (isThere: boolean, column: Column<ListedRun>): Column<ListedRun>[] => (isThere ? [column] : [])
  return runsTable(
    items,
    varying,
    fieldsOf(columns),
    [
      { title: 'run', cell: ({ id }) => short?.get(id) ?? id },
      { title: 'status', cell: ({ status }) => status },
      ...onlyIf(flows.size > 1, { title: 'flow', cell: ({ flow }) => flow }),
      { title: 'created', cell: ({ created_at }) => shortTime(created_at) },
      { title: 'took', align: 'right', cell: run => took(run) },
      ...onlyIf(
        items.some(({ tags }) => tags.length > 0),
        { title: 'tags', cell: ({ tags }) => tags.join(' ') },
      ),
      ...onlyIf(
        items.some(({ group }) => group !== null),
        { title: 'group', cell: ({ group }) => group ?? '' },
      ),
      ...onlyIf(
        items.some(run => Object.keys(same(run)).length > 0),
        { title: 'params', cell: run => params(same(run)) },
      ),
    ],
    width,
  )
}

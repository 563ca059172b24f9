import type { Command } from 'commander'
import type { RunSummary } from '../../../../protocol/nouns/run.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { shortTime } from '../../output/figures.ts'
import { params, took } from '../../output/run-text.ts'
import { table } from '../../output/table.ts'
import { addSelection, type SelectionOptions, selectionOf } from '../../selection.ts'

const SHOWN = 20
const PAGE = 500

export function addRunsList(runs: Command, context: Context): void {
  addSelection(runs.command('list', { isDefault: true }).description('list runs, the newest first'))
    .option('--limit <count>', `print at most this many (default: ${SHOWN})`, countOf('--limit'))
    .option('--json', 'print JSON')
    .action(
      async (
        flow: string | undefined,
        options: SelectionOptions & { limit?: number; json?: boolean },
        command: Command,
      ) => {
        const { output } = context
        const most = options.limit ?? SHOWN
        const client = connect(context, command)
        const selection = selectionOf(flow, options)
        const { count, counts } = await client.runs.page(selection, 1)
        const items: RunSummary[] = []
        for await (const run of client.runs.list(selection, Math.min(most, PAGE))) if (items.push(run) >= most) break
        if (options.json) return output.json({ items, count, counts })
        if (items.length === 0) return output.note('no runs match; start one with "svc run <flow>"')
        output.table(runsTable(items, output.width))
        if (count > items.length) output.note(`${items.length} of ${count}; --limit shows more`)
      },
    )
}

const runsTable = (items: readonly RunSummary[], width: number | undefined): string[] =>
  table(
    items,
    [
      { title: 'run', cell: ({ id }) => id },
      { title: 'flow', cell: ({ flow }) => flow },
      { title: 'status', cell: ({ status }) => status },
      { title: 'created', cell: ({ created_at }) => shortTime(created_at) },
      { title: 'took', align: 'right', cell: run => took(run) },
      { title: 'group', cell: ({ group }) => group ?? '' },
      { title: 'params', cell: ({ inputs }) => params(inputs) },
    ],
    width,
  )

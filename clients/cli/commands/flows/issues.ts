import type { Command } from 'commander'
import type { Issue } from '../../../../protocol/nouns/issue.ts'
import { type Context, connect } from '../../context.ts'
import { shortTime } from '../../output/figures.ts'
import { table } from '../../output/table.ts'

interface FlowIssue extends Issue {
  readonly flow: string
}

/** The issues of flows, from the list of flows. */
export function addIssues(program: Command, context: Context): void {
  program
    .command('issues')
    .description('list the issues of all flows, or of one')
    .option('--flow <name>', 'only issues of this flow')
    .option('--json', 'print JSON')
    .action(async (options: { flow?: string; json?: boolean }, command: Command) => {
      const { output } = context
      const { flows } = connect(context, command)
      const shown = options.flow === undefined ? (await flows.list()).items : [await flows.get(options.flow)]
      const items: FlowIssue[] = shown.flatMap(({ name, issues }) => issues.map(issue => ({ flow: name, ...issue })))
      if (options.json) return output.json({ items, count: items.length })
      if (items.length === 0) return output.note('there are no issues')
      output.table(
        table(
          items,
          [
            { title: 'flow', cell: ({ flow }) => flow },
            { title: 'node', cell: ({ node }) => node ?? '' },
            { title: 'issue', cell: ({ code, advisory }) => (advisory ? `${code} (advice)` : code) },
            { title: 'since', cell: ({ since }) => (since === null ? '' : shortTime(since)) },
            { title: 'what', cell: ({ message }) => message },
          ],
          output.width,
        ),
      )
    })
}

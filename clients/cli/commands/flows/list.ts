import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { shortTime } from '../../output/figures.ts'
import { table } from '../../output/table.ts'

export function addFlowsList(flows: Command, context: Context): void {
  flows
    .command('list', { isDefault: true })
    .description('list the flows by name')
    .option('--limit <count>', 'print at most this many', countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (options: { limit?: number; json?: boolean }, command: Command) => {
      const { output } = context
      const list = await connect(context, command).flows.list(options.limit)
      if (options.json) return output.json(list)
      if (list.items.length === 0) return output.note('there are no flows; save one with "svc flows put <name> <file>"')
      output.table(
        table(
          list.items,
          [
            { title: 'flow', cell: flow => flow.name },
            { title: 'version', align: 'right', cell: flow => String(flow.version) },
            { title: 'nodes', align: 'right', cell: flow => String(flow.nodes) },
            { title: 'enabled', cell: flow => (flow.enabled ? 'yes' : 'no') },
            { title: 'issues', align: 'right', cell: flow => String(flow.issues.length) },
            { title: 'saved', cell: flow => shortTime(flow.updated_at) },
            { title: 'by', cell: flow => flow.updated_by },
          ],
          output.width,
        ),
      )
    })
}

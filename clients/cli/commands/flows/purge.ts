import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'

export function addFlowsPurge(flows: Command, context: Context): void {
  flows
    .command('purge')
    .description('drop all waiting items of a flow; running executions continue')
    .argument('<name>', 'the flow')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  svc flows purge boiler')
    .action(async (name: string, options: { json?: boolean }, command: Command) => {
      const purged = await connect(context, command).flows.purge(name)
      if (options.json) return context.output.json(purged)
      context.output.lines([`${purged.name}: ${purged.dropped} dropped`])
    })
}

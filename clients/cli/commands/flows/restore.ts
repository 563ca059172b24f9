import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { findCommit } from './history.ts'
import { printSaved } from './put.ts'

export function addFlowsRestore(flows: Command, context: Context): void {
  flows
    .command('restore')
    .description('save a flow as it was at an earlier commit')
    .argument('<name>', 'the flow')
    .argument('<commit>', 'the commit, or its first characters')
    .option('--json', 'print JSON')
    .action(async (name: string, start: string, options: { json?: boolean }, command: Command) => {
      const client = connect(context, command)
      const saved = await client.flows.restore(name, await findCommit(client, name, start))
      if (options.json) return context.output.json(saved)
      printSaved(context.output, saved)
    })
}

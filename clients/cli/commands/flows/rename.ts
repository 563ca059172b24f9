import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { printSaved } from './put.ts'

export function addFlowsRename(flows: Command, context: Context): void {
  flows
    .command('rename')
    .description('rename a flow, and update the other flows that read its messages')
    .argument('<name>', 'the flow')
    .argument('<to>', 'its new name')
    .option('--json', 'print JSON')
    .action(async (name: string, to: string, options: { json?: boolean }, command: Command) => {
      const saved = await connect(context, command).flows.rename(name, to)
      if (options.json) return context.output.json(saved)
      printSaved(context.output, saved)
    })
}

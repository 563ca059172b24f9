import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { printSaved } from './put.ts'

export const addFlowsEnable = (flows: Command, context: Context): void =>
  add(flows.command('enable').description('enable a flow, so that it runs'), context, true)

export const addFlowsDisable = (flows: Command, context: Context): void =>
  add(
    flows.command('disable').description('stop a flow and its executions; its values, state and queue are kept'),
    context,
    false,
  )

function add(command: Command, context: Context, enabled: boolean): void {
  command
    .argument('<name>', 'the flow')
    .option('--json', 'print JSON')
    .action(async (name: string, options: { json?: boolean }) => {
      const saved = await connect(context, command).flows.setEnabled(name, enabled)
      if (options.json) return context.output.json(saved)
      printSaved(context.output, saved)
    })
}

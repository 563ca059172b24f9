import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'

export function addFlowsGet(flows: Command, context: Context): void {
  flows
    .command('get')
    .description("print a flow's document, as flows put takes it")
    .argument('<name>', 'the flow')
    .option('--json', 'print the whole flow: document, version, issues, backlog, counters')
    .action(async (name: string, options: { json?: boolean }, command: Command) => {
      const flow = await connect(context, command).flows.get(name)
      context.output.json(options.json ? flow : flow.document)
    })
}

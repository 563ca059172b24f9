import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'

export function addFlowsDelete(flows: Command, context: Context): void {
  flows
    .command('delete')
    .description('stop and remove a flow; its history is kept, so "svc flows restore" can bring it back')
    .argument('<name>', 'the flow')
    .action(async (name: string, _options: object, command: Command) => {
      await connect(context, command).flows.delete(name)
      context.output.note(`flow ${name} is deleted; "svc flows history ${name}" lists what can be restored`)
    })
}

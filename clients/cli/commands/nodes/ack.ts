import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'

export function addNodesAck(nodes: Command, context: Context): void {
  nodes
    .command('ack')
    .description("acknowledge a node's last error: the node is no longer shown as failed")
    .argument('<flow.node>', 'the node')
    .action(async (node: string, _options: object, command: Command) => {
      const { nodes } = connect(context, command)
      const { count } = await nodes.errors(node)
      if (count === 0) return context.output.note(`${node} has no failed executions on record`)
      await nodes.acknowledge(node)
      context.output.note(`the last error of ${node} is acknowledged`)
    })
}

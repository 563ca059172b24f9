import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { shortTime } from '../../output/figures.ts'
import { table } from '../../output/table.ts'

export function addMessagesList(messages: Command, context: Context): void {
  messages
    .command('list', { isDefault: true })
    .description('list messages with their latest values')
    .argument('[flow]', 'only those of this flow')
    .option('--limit <count>', 'print at most this many', countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (flow: string | undefined, options: { limit?: number; json?: boolean }, command: Command) => {
      const { output } = context
      const client = connect(context, command)
      const list = await client.messages.list({
        ...(flow === undefined ? {} : { flow }),
        ...(options.limit === undefined ? {} : { most: options.limit }),
      })
      if (options.json) return output.json(list)
      if (list.items.length === 0) {
        // The name of the flow may be wrong; then this request is refused.
        if (flow !== undefined) await client.flows.get(flow)
        const where = flow === undefined ? 'there are no messages' : `flow ${flow} has no messages`
        return output.note(`${where}; save a flow that declares some`)
      }
      output.table(
        table(
          list.items,
          [
            { title: 'message', cell: message => message.name },
            { title: 'dtype', cell: message => message.dtype },
            { title: 'version', align: 'right', cell: message => String(message.version) },
            { title: 'updated', cell: ({ updated_at }) => (updated_at === null ? 'never' : shortTime(updated_at)) },
            { title: 'value', cell: message => (message.version === 0 ? '' : JSON.stringify(message.value)) },
          ],
          output.width,
        ),
      )
    })
}

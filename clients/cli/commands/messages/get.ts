import type { Command } from 'commander'
import { EXIT } from '../../../../protocol/settings.ts'
import { type Context, connect } from '../../context.ts'
import { Failure } from '../../failure.ts'

export function addMessagesGet(messages: Command, context: Context): void {
  messages
    .command('get')
    .description("print a message's latest value alone")
    .argument('<name>', 'the message, <flow>.<message>')
    .option('--json', 'print the whole message: value, version, dtype, time, publisher')
    .action(async (name: string, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const message = await connect(context, command).messages.get(name)
      if (options.json) return output.json(message)
      if (message.version === 0) throw new Failure(EXIT.refused, `${name} has no value yet. Publish one first.`)
      if (typeof message.value === 'string') return output.raw(message.value)
      output.json(message.value)
    })
}

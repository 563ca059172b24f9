import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { usage } from '../../failure.ts'
import { givenValue } from '../../given-values.ts'

interface PublishOptions {
  readonly string?: boolean
  readonly durable?: boolean
  readonly json?: boolean
}

export function addPublish(program: Command, context: Context): void {
  program
    .command('publish')
    .description('publish a value of a message')
    .argument('<name>', 'the message, <flow>.<message>')
    .argument('<value>', 'the value: JSON; anything else is taken as a string; - reads standard input')
    .option('--string', 'take the value as a string even when it is valid JSON')
    .option('--durable', 'wait until the value is on disk')
    .option('--json', 'print JSON')
    .action(async (name: string, given: string, options: PublishOptions, command: Command) => {
      const client = connect(context, command)
      const content = given === '-' ? await readStandardInput(context) : given
      const value = options.string ? content : givenValue(content)
      const published = await client.messages.publish(name, value, { durable: options.durable ?? false })
      if (options.json) return context.output.json(published)
      context.output.lines([`${published.name} version ${published.version}`])
    })
}

async function readStandardInput(context: Context): Promise<string> {
  if (context.stdin.isTTY) throw usage('Standard input is a terminal; give the value as an argument.')
  return (await text(context.stdin)).replace(/\r?\n$/, '')
}

import type { Command } from 'commander'
import type { NodeError } from '../../../../protocol/nouns/node-error.ts'
import { inCommands } from '../../command-hints.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { shortTime } from '../../output/figures.ts'
import type { Output } from '../../output/output.ts'
import { fit, printable } from '../../output/text.ts'

const SHOWN = 5
const INPUT_COLUMNS = 400

export function addNodesErrors(nodes: Command, context: Context): void {
  nodes
    .command('errors')
    .description("a node's last failed executions, the newest first, with the inputs that failed")
    .argument('<flow.node>', 'the node')
    .option('--limit <count>', `print at most this many (default: ${SHOWN})`, countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (node: string, options: { limit?: number; json?: boolean }, command: Command) => {
      const { output } = context
      const list = await connect(context, command).nodes.errors(node)
      const items = list.items.slice(0, options.limit ?? SHOWN)
      if (options.json) return output.json({ items, count: list.count })
      if (items.length === 0) return output.note(`${node} has no failed executions on record`)
      items.forEach((error, at) => {
        if (at > 0) output.lines([''])
        printError(output, error)
      })
      if (list.count > items.length) output.note(`${items.length} of ${list.count}; --limit shows more`)
    })
}

function printError(output: Output, { ts, code, message, inputs, cascade, acknowledged }: NodeError): void {
  const head = `${shortTime(ts)}  ${code}${acknowledged ? '  (acknowledged)' : ''}`
  output.lines([
    output.style('bold', head),
    ...inCommands(code, message)
      .split('\n')
      .map(line => `  ${printable(line)}`),
    `  inputs   ${fit(printable(JSON.stringify(inputs)), INPUT_COLUMNS)}`,
    ...(cascade === null ? [] : [`  cascade  ${cascade}`]),
  ])
}

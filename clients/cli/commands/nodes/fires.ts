import type { Command } from 'commander'
import type { Fire } from '../../../../protocol/nouns/fire.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { shortTime } from '../../output/figures.ts'

const SHOWN = 20

export function addFires(program: Command, context: Context): void {
  program
    .command('fires')
    .description('list the scheduled times of an inject node, fired, late or skipped, the newest first')
    .argument('<flow.node>', 'the node')
    .option('--limit <count>', `print at most this many (default: ${SHOWN})`, countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (node: string, options: { limit?: number; json?: boolean }, command: Command) => {
      const { output } = context
      const list = await connect(context, command).nodes.fires(node, { limit: options.limit ?? SHOWN })
      if (options.json) return output.json({ items: list.items, count: list.count })
      if (list.items.length === 0) return output.note(`${node} has no scheduled times on record`)
      output.lines(list.items.map(lineOf))
      if (list.count > list.items.length) output.note(`${list.items.length} of ${list.count}; --limit shows more`)
    })
}

function lineOf({ scheduled_at, last_scheduled_at, status, late_s, reason, count, at_least }: Fire): string {
  const until = count > 1 ? ` to ${shortTime(last_scheduled_at)}, ${count}${at_least ? ' or more' : ''}` : ''
  const late = late_s > 0 && status === 'late' ? ` by ${late_s.toFixed(1)} s` : ''
  return `${shortTime(scheduled_at)}${until}  ${status}${late}${reason === null ? '' : `  ${reason}`}`
}

import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { duration } from '../../output/figures.ts'

export function addCascadesShow(cascades: Command, context: Context): void {
  cascades
    .command('show')
    .description('show a cascade: what started it, and how it ended')
    .argument('<cascade>', 'its id')
    .option('--json', 'print JSON')
    .action(async (id: string, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const cascade = await connect(context, command).cascades.get(id)
      if (options.json) return output.json(cascade)
      const lines: [string, string | null][] = [
        ['cascade', cascade.id],
        ['flow', cascade.flow],
        ['status', cascade.status],
        ['root', `${cascade.root} version ${cascade.root_version}`],
        ['parent', cascade.parent],
        ['rerun of', cascade.rerun_of],
        ['started', cascade.started_at],
        ['took', duration(cascade.duration)],
        ['executions', String(cascade.executions)],
        ['errors', String(cascade.errors)],
      ]
      output.lines(lines.flatMap(([name, text]) => (text === null ? [] : [`${name.padEnd(12)}${text}`])))
    })
}

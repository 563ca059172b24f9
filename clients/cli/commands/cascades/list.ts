import { type Command, Option } from 'commander'
import type { Cascade } from '../../../../protocol/nouns/cascade.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { duration, shortTime } from '../../output/figures.ts'
import { shortCascades } from '../../output/short-ids.ts'
import { table } from '../../output/table.ts'

const SHOWN = 20
const STATUSES = ['running', 'succeeded', 'failed', 'interrupted']

interface ListOptions {
  readonly status?: Cascade['status']
  readonly limit?: number
  readonly json?: boolean
}

export function addCascadesList(cascades: Command, context: Context): void {
  cascades
    .command('list', { isDefault: true })
    .description('list cascades, the newest first')
    .argument('[flow]', 'only those of this flow')
    .addOption(new Option('--status <status>', `only those that are ${STATUSES.join(', ')}`).choices(STATUSES))
    .option('--limit <count>', `print at most this many (default: ${SHOWN})`, countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (flow: string | undefined, options: ListOptions, command: Command) => {
      const { output } = context
      const { status, limit = SHOWN } = options
      const list = await connect(context, command).cascades.list({ flow, status, limit })
      if (options.json) return output.json(list)
      if (list.items.length === 0) return output.note('no cascades match; a published value starts one')
      const short = output.width === undefined ? null : shortCascades(list.items.map(({ id }) => id))
      output.table(
        table(
          list.items,
          [
            { title: 'cascade', cell: ({ id }) => short?.get(id) ?? id },
            { title: 'flow', cell: ({ flow }) => flow },
            { title: 'status', cell: ({ status }) => status },
            { title: 'started', cell: ({ started_at }) => shortTime(started_at) },
            { title: 'took', align: 'right', cell: cascade => duration(cascade.duration) },
            { title: 'root', cell: ({ root, root_version }) => `${root} ${root_version}` },
            { title: 'executions', align: 'right', cell: ({ executions }) => String(executions) },
          ],
          output.width,
        ),
      )
      if (list.count > list.items.length) output.note(`${list.items.length} of ${list.count}; --limit shows more`)
    })
}

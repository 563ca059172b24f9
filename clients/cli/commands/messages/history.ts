import type { Command } from 'commander'
import type { HistoryBin, HistoryPoint } from '../../../../protocol/nouns/message.ts'
import { type Context, connect } from '../../context.ts'
import { countOf, numberOf } from '../../counts.ts'
import { table } from '../../output/table.ts'

const SHOWN = 20
const MILLISECONDS = 23

interface HistoryOptions {
  readonly since?: string
  readonly until?: string
  readonly limit?: number
  readonly bucket?: number
  readonly json?: boolean
}

export function addHistory(program: Command, context: Context): void {
  program
    .command('history')
    .description("a message's values that were kept, the newest last")
    .argument('<message>', 'the message, <flow>.<message>')
    .option('--since <time>', 'from this time on, RFC 3339 with an offset')
    .option('--until <time>', 'before this time')
    .option(
      '--bucket <seconds>',
      'print one line per this many seconds: count, minimum, maximum, mean',
      numberOf('--bucket'),
    )
    .option('--limit <count>', `print at most this many of the newest (default: ${SHOWN})`, countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (name: string, options: HistoryOptions, command: Command) => {
      const { output } = context
      const { since, until, bucket, limit = SHOWN } = options
      const history = await connect(context, command).messages.history(name, { since, until, limit, bucket_s: bucket })
      if (options.json) return output.json(history)
      if (history.items.length === 0) return output.note(`${name} has no values in this time range`)
      output.table(
        history.bucket_s === null
          ? pointsTable(history.items as HistoryPoint[], output.width)
          : binsTable(history.items as HistoryBin[], output.width),
      )
      if (history.truncated) output.note('there are older values; --limit shows more, --until shows earlier ones')
    })
}

const timeOf = (ts: string): string => ts.slice(0, MILLISECONDS).replace('T', ' ')

const pointsTable = (points: readonly HistoryPoint[], width: number | undefined): string[] =>
  table(
    points,
    [
      { title: 'at', cell: ({ ts }) => timeOf(ts) },
      { title: 'version', align: 'right', cell: ({ version }) => String(version) },
      { title: 'value', cell: ({ value }) => JSON.stringify(value) },
    ],
    width,
  )

function binsTable(bins: readonly HistoryBin[], width: number | undefined): string[] {
  const figure = (title: string, key: 'min' | 'max' | 'mean') => ({
    title,
    align: 'right' as const,
    cell: (bin: HistoryBin) => (bin[key] === null ? '-' : String(Number(bin[key].toPrecision(6)))),
  })
  return table(
    bins,
    [
      { title: 'from', cell: ({ ts }) => timeOf(ts) },
      { title: 'count', align: 'right', cell: ({ count }) => String(count) },
      figure('least', 'min'),
      figure('greatest', 'max'),
      figure('mean', 'mean'),
      { title: 'last', cell: ({ last }) => JSON.stringify(last) },
    ],
    width,
  )
}

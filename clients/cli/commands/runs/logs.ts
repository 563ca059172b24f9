import { type Command, Option } from 'commander'
import type { LogLevel, RunLogLine } from '../../../../protocol/nouns/run-log.ts'
import { LOG_LEVELS } from '../../../../protocol/words/log-level.ts'
import { type Context, connect } from '../../context.ts'
import { wholeOf } from '../../counts.ts'
import type { Output } from '../../output/output.ts'
import { printable } from '../../output/text.ts'

interface LogsOptions {
  readonly follow?: boolean
  readonly after?: number
  readonly node?: string
  readonly level?: LogLevel
  readonly json?: boolean
}

export function addRunsLogs(runs: Command, context: Context): void {
  runs
    .command('logs')
    .description('print the log of a run: what its bodies logged and printed')
    .argument('<run>', 'its id, or the short id from the list')
    .option('--follow', 'then print new lines until the run has ended')
    .option('--after <seq>', 'only lines after this number', wholeOf('--after'))
    .option('--node <node>', 'only lines of this node')
    .addOption(new Option('--level <level>', 'only lines of this level or a more severe one').choices(LOG_LEVELS))
    .option('--json', 'print one JSON document per line')
    .action(async (text: string, options: LogsOptions, command: Command) => {
      const client = connect(context, command)
      const { after, node, level } = options
      const selection = {
        ...(after === undefined ? {} : { after }),
        ...(node === undefined ? {} : { node }),
        ...(level === undefined ? {} : { level }),
      }
      const { output } = context
      // The socket takes only whole ids.
      const id = options.follow ? await client.runs.whole(text) : text
      const print = options.json ? (line: RunLogLine) => output.jsonLine(line) : lineOf(output)
      const lines = options.follow ? client.runs.followLog(id, selection) : client.runs.log(id, selection)
      for await (const line of lines) print(line)
      const { dropped } = await client.runs.logPage(id, { after: Number.MAX_SAFE_INTEGER })
      if (dropped > 0) output.note(`${dropped} lines were dropped: the log of the run was over its bound`)
    })
}

const lineOf =
  (output: Output) =>
  ({ ts, node, level, text }: RunLogLine): void =>
    output.raw(`${ts} ${level.padEnd(5)} ${node}: ${printable(text)}`)

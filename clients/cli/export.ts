import type { Command } from 'commander'
import { EXIT } from '../../protocol/settings.ts'
import { ClientError } from '../client/client-error.ts'
import type { Export, ExportForm } from '../client/exports.ts'
import { type Context, connect } from './context.ts'
import { countOf } from './counts.ts'
import { Failure, usage } from './failure.ts'
import { addSelection, type SelectionOptions, selectionOf } from './selection.ts'

interface FormOptions extends SelectionOptions {
  readonly format?: string
  readonly raw?: boolean
  readonly list?: boolean
}

export function addExport(program: Command, context: Context): void {
  const exports = program.command('export').helpCommand(false).description('runs and their metrics as csv or jsonl')
  addForm(exports.command('metrics').description('a row per run, metric and step'))
    .option('--name <name>', 'only this metric, <flow>.<node>.<name>')
    .option('--stride <count>', 'every so manieth point of each series', countOf('--stride'))
    .action(
      async (flow: string | undefined, options: FormOptions & { name?: string; stride?: number }, command: Command) => {
        if (options.list) return list(context, flow, options, command)
        const { name, stride } = options
        const { metrics } = connect(context, command)
        await pour(
          context,
          await metrics.export(selectionOf(flow, options), {
            ...formOf(options),
            ...(name === undefined ? {} : { name }),
            ...(stride === undefined ? {} : { stride }),
          }),
        )
      },
    )
  addForm(exports.command('runs').description('a row per run: inputs that vary, numbers of the result, metrics'))
    .option('--metrics <names>', 'metrics with a column each, with commas between them')
    .action(async (flow: string | undefined, options: FormOptions & { metrics?: string }, command: Command) => {
      if (options.list) return list(context, flow, options, command)
      const { runs } = connect(context, command)
      const metrics = options.metrics?.split(',')
      const form = { ...formOf(options), ...(metrics === undefined ? {} : { metrics }) }
      await pour(context, await runs.export(selectionOf(flow, options), form))
    })
}

const addForm = (command: Command): Command =>
  addSelection(command)
    .option('--list', 'print the names of the metrics that the runs carry, and nothing else')
    .option('--format <format>', 'csv or jsonl; csv when not given')
    .option('--raw', 'csv: leave cells as they are that a spreadsheet would take for a formula')

function formOf({ format, raw }: FormOptions): ExportForm {
  if (format !== undefined && format !== 'csv' && format !== 'jsonl')
    throw usage(`--format is ${JSON.stringify(format)}: csv or jsonl is needed.`)
  return { ...(format === undefined ? {} : { format }), ...(raw ? { raw } : {}) }
}

async function list(context: Context, flow: string | undefined, options: FormOptions, command: Command): Promise<void> {
  const { items } = await connect(context, command).metrics.names(selectionOf(flow, options))
  if (items.length === 0) context.output.note('these runs carry no metrics')
  else context.output.raw(items.join('\n'))
}

async function pour({ output }: Context, { stream, truncated }: Export): Promise<void> {
  try {
    await output.pour(stream)
  } catch (error) {
    if (error instanceof ClientError) throw error
    throw new Failure(EXIT.failed, `The export broke off (${(error as Error).message}): what came is not the whole.`)
  }
  if (truncated !== null) output.note(`the selection was cut: ${truncated}; narrow it with --since and --before`)
}

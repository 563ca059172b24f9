import { resolve } from 'node:path'
import type { Command } from 'commander'
import { EXIT } from '../../../../protocol/settings.ts'
import { EXPORT_RUN_COLUMNS, type ExportRunColumn } from '../../../../protocol/words/run-columns.ts'
import { ClientError } from '../../../client/client-error.ts'
import type { Export, ExportForm } from '../../../client/exports/exports.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { Failure, usage } from '../../failure.ts'
import { addSelection, type SelectionOptions, selectionOf } from '../../selection.ts'
import { writeWhole } from '../../whole-file.ts'

interface FormOptions extends SelectionOptions {
  readonly format?: string
  readonly raw?: boolean
  readonly list?: boolean
  readonly output?: string
}

export function addExport(program: Command, context: Context): void {
  const exports = program
    .command('export')
    .helpCommand(false)
    .description('export runs and their metrics as csv, jsonl or Parquet')
  addForm(exports.command('metrics').description('export metrics: one row per run, metric and step'))
    .option('--name <name>', 'only this metric, <flow>.<node>.<name>')
    .option('--stride <count>', 'only every n-th point of each series', countOf('--stride'))
    .action(
      async (flow: string | undefined, options: FormOptions & { name?: string; stride?: number }, command: Command) => {
        if (options.list) return list(context, flow, options, command)
        const { name, stride } = options
        const form = { ...formOf(context, options), ...(name === undefined ? {} : { name }) }
        const { metrics } = connect(context, command)
        const selection = selectionOf(flow, options)
        await write(
          context,
          options,
          await metrics.export(selection, { ...form, ...(stride === undefined ? {} : { stride }) }),
        )
      },
    )
  addForm(
    exports
      .command('runs')
      .description('export runs: one row per run with inputs that vary, numbers of the result, metrics'),
  )
    .option('--metrics <names>', 'the metrics to add as columns, separated by commas')
    .option('--columns <names>', `more columns, separated by commas: ${EXPORT_RUN_COLUMNS.join(', ')}`)
    .action(
      async (
        flow: string | undefined,
        options: FormOptions & { metrics?: string; columns?: string },
        command: Command,
      ) => {
        if (options.list) return list(context, flow, options, command)
        const metrics = options.metrics?.split(',')
        const columns = columnsOf(options.columns)
        const form = {
          ...formOf(context, options),
          ...(metrics === undefined ? {} : { metrics }),
          ...(columns.length === 0 ? {} : { columns }),
        }
        const { runs } = connect(context, command)
        await write(context, options, await runs.export(selectionOf(flow, options), form))
      },
    )
}

function columnsOf(text: string | undefined): ExportRunColumn[] {
  const names = text?.split(',') ?? []
  const unknown = names.find(name => !(EXPORT_RUN_COLUMNS as readonly string[]).includes(name))
  if (unknown !== undefined) throw usage(`--columns has no "${unknown}"; it has ${EXPORT_RUN_COLUMNS.join(', ')}.`)
  return names as ExportRunColumn[]
}

const addForm = (command: Command): Command =>
  addSelection(command)
    .option('--list', 'print only the names of the metrics of these runs')
    .option('--format <format>', 'csv, jsonl or parquet (default: csv)')
    .option('-o, --output <file>', 'the file to write (default: standard output)')
    .option('--raw', 'csv: do not escape cells that a spreadsheet would read as a formula')

function formOf({ output }: Context, { format, raw, output: file }: FormOptions): ExportForm {
  if (format !== undefined && format !== 'csv' && format !== 'jsonl' && format !== 'parquet')
    throw usage(`--format is ${JSON.stringify(format)}; expected csv, jsonl or parquet.`)
  if (format === 'parquet' && file === undefined && output.isTerminal)
    throw usage('Parquet is a binary format: name a file with -o, or write to a pipe.')
  return { ...(format === undefined ? {} : { format }), ...(raw ? { raw } : {}) }
}

async function list(context: Context, flow: string | undefined, options: FormOptions, command: Command): Promise<void> {
  const { items } = await connect(context, command).metrics.names(selectionOf(flow, options))
  if (items.length === 0) context.output.note('these runs have no metrics')
  else context.output.raw(items.join('\n'))
}

async function write({ output, cwd }: Context, options: FormOptions, { stream, truncated }: Export): Promise<void> {
  try {
    if (options.output === undefined) await output.pour(stream)
    else await writeWhole(resolve(cwd, options.output), stream)
  } catch (error) {
    if (error instanceof ClientError || error instanceof Failure) throw error
    throw new Failure(
      EXIT.failed,
      `The export broke off (${(error as Error).message}): the file is incomplete. Run it again.`,
    )
  }
  if (truncated !== null)
    output.note(`the export is incomplete: ${truncated}; select fewer runs with --since and --before`)
}

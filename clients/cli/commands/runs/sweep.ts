import type { Command } from 'commander'
import { EXIT } from '../../../../protocol/settings.ts'
import type { Client } from '../../../client/client.ts'
import { KeyedRuns } from '../../../client/runs/keyed-runs.ts'
import { hasEnded } from '../../../client/runs/run-wait.ts'
import { type Context, connect } from '../../context.ts'
import { Failure, usage } from '../../failure.ts'
import { givenList, product } from '../../given-values.ts'
import { originCommit } from '../../origin-commit.ts'
import { took } from '../../output/run-text.ts'
import { fieldsOf, runsTable, varyingInputs } from '../../output/runs-table.ts'
import { shortRuns } from '../../output/short-ids.ts'
import { addRequestOptions, type RequestOptions, requestOf } from './request.ts'
import type { Entry } from './sweep-entry.ts'

/** Requests at once, to start runs and to wait for them. */
const AT_ONCE = 8
const DIGITS = 8

interface SweepOptions extends RequestOptions {
  readonly param?: Record<string, unknown[]>
  readonly columns?: string
  readonly dryRun?: boolean
  readonly wait: boolean
  readonly json?: boolean
}

export function addSweep(program: Command, context: Context): void {
  const sweep = program
    .command('sweep')
    .description('run a flow for every combination of values; a repeat starts only what is missing or failed')
    .argument('<flow>', 'the flow')
    .option('--param <name=v1,v2>', 'the values of an input, each as JSON or text; may be repeated', givenList)
  addRequestOptions(sweep, {
    timeout: 'fail a run that takes longer',
    group: 'the group of the runs; existing runs join it (default: a group per state of the flow and its code)',
    tag: 'a tag to find the runs by, also added to existing runs; may be repeated',
    note: 'a text that is kept with each new run',
    key: 'part of every key: with another text, every run is another one',
  })
  sweep
    .option('--columns <fields>', 'more columns, separated by commas, such as metric.loss,result.y')
    .option('--dry-run', 'start nothing; print the runs that would be started')
    .option('--no-wait', 'start the runs, and do not wait for their end')
    .option('--json', 'print JSON')
    .action(async (flow: string, options: SweepOptions, command: Command) => {
      if (options.param === undefined) throw usage('Give at least one --param <name>=<v1>,<v2>.')
      const client = connect(context, command)
      const runs = new KeyedRuns(client.runs, flow, 'sweep')
      const request = requestOf(options, {}, originCommit(context.cwd))
      request.group ??= `sweep-${(await runs.base(request)).slice(0, DIGITS)}`
      const { group } = request
      const entries = product(options.param).map(
        (inputs): Entry => ({ request: { ...request, inputs }, run: null, is_started: false }),
      )
      if (options.dryRun) await look(runs, entries)
      else await startAndWait(context, client, runs, entries, options)
      await addColumns(client, { flow, group }, entries, options)
      print(context, group, entries, options)
    })
}

/** Reads the columns of the runs of the group, without those that a dry run would start. */
async function addColumns(
  client: Client,
  selection: { flow: string; group: string },
  entries: readonly Entry[],
  { columns }: SweepOptions,
): Promise<void> {
  if (columns === undefined) return
  const byId = Map.groupBy(entries, ({ run }) => run?.id ?? '')
  for await (const run of client.runs.list({ ...selection, columns }))
    for (const entry of byId.get(run.id) ?? []) entry.columns = run.columns
}

async function start(runs: KeyedRuns, entry: Entry): Promise<void> {
  const { run, replayed } = await runs.start(entry.request)
  entry.run = run
  entry.is_started = !replayed
}

async function look(runs: KeyedRuns, entries: readonly Entry[]): Promise<void> {
  for (const entry of entries) {
    const { run, is_missing } = await runs.look(entry.request)
    entry.run = run
    entry.is_started = is_missing
  }
}

async function startAndWait(
  context: Context,
  client: Client,
  runs: KeyedRuns,
  entries: readonly Entry[],
  options: SweepOptions,
): Promise<void> {
  const { output, interrupts } = context
  const told = (done: number): void => output.progress(`${done} of ${entries.length} runs`)
  await interrupts.during(async signal => {
    try {
      await eachOf(entries, signal, entry => start(runs, entry))
      if (!options.wait) return
      let done = 0
      await eachOf(entries, signal, async entry => {
        if (!hasEnded(entry.run!)) entry.run = await client.runs.wait(entry.run!.id, { signal })
        told(++done)
      })
    } catch (error) {
      if (!signal.aborted) throw error
      await cancel(context, client, entries)
    } finally {
      output.progress('')
    }
  })
}

/** Cancels the runs that this command has started; others may belong to somebody else. */
async function cancel({ output }: Context, client: Client, entries: readonly Entry[]): Promise<never> {
  const ours = entries.filter(entry => entry.is_started && !hasEnded(entry.run!))
  output.note(`cancelling ${ours.length} runs; Ctrl-C again stops waiting`)
  // A run that has ended in the meantime refuses, which is fine.
  await eachOf(ours, null, entry => client.runs.cancel(entry.run!.id).catch(() => {}))
  throw new Failure(EXIT.interrupted, `Interrupted; repeat the same sweep to start the missing runs.`)
}

/** Works on `AT_ONCE` items at a time, in order. After a failure or the signal, no new one begins and those under way finish. */
async function eachOf<Item>(
  items: readonly Item[],
  signal: AbortSignal | null,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const left = items.values()
  let isOver = false
  const worker = async (): Promise<void> => {
    for (const item of left) {
      if (isOver) return
      try {
        signal?.throwIfAborted()
        await work(item)
      } catch (error) {
        isOver = true
        throw error
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

function print({ output }: Context, group: string, entries: readonly Entry[], options: SweepOptions): void {
  const started = entries.filter(entry => entry.is_started).length
  const verb = options.dryRun ? 'would be started' : 'started'
  if (options.json) {
    output.json({
      group,
      items: entries.map(({ request, run, is_started, columns }) => ({
        inputs: request.inputs,
        started: is_started,
        run,
        columns,
      })),
    })
  } else output.table(sweepTable(entries, options, output.width))
  output.note(`${started} of ${entries.length} runs ${verb}, group ${group}`)
  const failed = options.wait && !options.dryRun ? entries.filter(({ run }) => run!.status !== 'succeeded') : []
  if (failed.length > 0)
    throw new Failure(
      EXIT.failed,
      `${failed.length} of ${entries.length} runs did not succeed; see "svc runs show <run>".`,
    )
}

function sweepTable(entries: readonly Entry[], options: SweepOptions, width: number | undefined): string[] {
  const rows = entries.map(entry => ({ ...entry, inputs: entry.request.inputs ?? {}, columns: entry.columns ?? {} }))
  const short = width === undefined ? null : shortRuns(entries.flatMap(({ run }) => run?.id ?? []))
  return runsTable(
    rows,
    rows.length > 1 ? varyingInputs(rows) : Object.keys(options.param!),
    fieldsOf(options.columns),
    [
      { title: 'run', cell: ({ run }) => (run === null ? '' : (short?.get(run.id) ?? run.id)) },
      { title: 'status', cell: ({ run }) => run?.status ?? 'missing' },
      { title: 'took', align: 'right', cell: ({ run }) => (run === null ? '' : took(run)) },
      { title: options.dryRun ? 'would start' : 'started', cell: ({ is_started }) => (is_started ? 'yes' : 'no') },
    ],
    width,
  )
}

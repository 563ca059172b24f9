import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { CreateRun, Run } from '../../protocol/run.ts'
import { EXIT } from '../../protocol/settings.ts'
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/client-error.ts'
import { type Context, connect } from './context.ts'
import { numberOf, wholeOf } from './counts.ts'
import { Failure } from './failure.ts'
import { givenInput } from './given-values.ts'
import { eventText, outcome, resultTable } from './run-text.ts'

interface RunOptions {
  readonly param?: Record<string, unknown>
  readonly seed?: number
  readonly timeout?: number
  readonly cache: boolean
  readonly group?: string
  readonly key?: string
  readonly follow?: boolean
  readonly wait: boolean
  readonly json?: boolean
}

export function addRun(program: Command, context: Context): void {
  program
    .command('run')
    .description('run a flow once, as a recorded batch run, and wait for its end; Ctrl-C cancels it')
    .argument('<flow>', 'the flow')
    .option('-p, --param <name=value>', 'the value of an input, may be given again: JSON, or else the text', givenInput)
    .option('--seed <number>', 'recorded, and given to an input named seed', wholeOf('--seed'))
    .option('--timeout <seconds>', 'fail the run when it takes longer', numberOf('--timeout'))
    .option('--no-cache', 'run every node, whatever the stage cache holds')
    .option('--group <name>', 'the group that the run belongs to')
    .option('--key <text>', 'an idempotency key: a repeat with it finds the same run')
    .option('--follow', 'tell on standard error what happens in the run')
    .option('--no-wait', 'print the id and leave the run to itself')
    .option('--json', 'print the run as JSON')
    .action(async (flow: string, options: RunOptions, command: Command) => {
      const { output, interrupts } = context
      const client = connect(context, command)
      const run = await interrupts.during(async signal => {
        // With a key of its own the request may be sent twice, so that a broken connection starts no second run.
        const key = options.key ?? `run:${randomUUID()}`
        const { run, replayed } = await client.runs.create(flow, requestOf({ ...options, key }))
        if (replayed && options.key !== undefined) output.note(`the key names run ${run.id}, which is ${run.status}`)
        if (!options.wait) return run
        try {
          return options.follow ? await follow(context, client, run, signal) : await wait(context, client, run, signal)
        } catch (error) {
          if (!signal.aborted) throw error
          return cancel(context, client, run)
        }
      })
      print(context, run, options)
    })
}

/** What the options of `svc run` and `svc sweep` say of a run. */
export const requestOf = (
  options: Pick<RunOptions, 'param' | 'seed' | 'timeout' | 'cache' | 'group' | 'key'>,
): CreateRun => ({
  cause: 'cli',
  ...(options.param === undefined ? {} : { inputs: options.param }),
  ...(options.seed === undefined ? {} : { seed: options.seed }),
  ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
  ...(options.cache ? {} : { no_cache: true }),
  ...(options.group === undefined ? {} : { group: options.group }),
  ...(options.key === undefined ? {} : { idempotency_key: options.key }),
})

async function wait({ output }: Context, client: Client, { id }: Run, signal: AbortSignal): Promise<Run> {
  try {
    return await client.runs.wait(id, { signal, onPoll: run => output.progress(outcome(run)) })
  } finally {
    output.progress('')
  }
}

async function follow({ output }: Context, client: Client, { id }: Run, signal: AbortSignal): Promise<Run> {
  const events = client.runs.follow(id, { signal })
  for (;;) {
    const next = await events.next()
    if (next.done) return next.value
    output.note(eventText(next.value))
  }
}

/** The run when it has ended by itself meanwhile, else the end of the command. */
async function cancel({ output }: Context, client: Client, { id }: Run): Promise<Run> {
  output.note(`cancelling run ${id}; Ctrl-C again leaves it to itself`)
  try {
    await client.runs.cancel(id)
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== 'run_ended') throw error
  }
  const run = await client.runs.wait(id)
  if (run.status === 'cancelled') throw new Failure(EXIT.interrupted, outcome(run))
  return run
}

function print({ output }: Context, run: Run, options: Pick<RunOptions, 'json' | 'wait'>): void {
  if (options.json) output.json(run)
  else if (!options.wait) output.lines([run.id])
  else if (run.result !== null && Object.keys(run.result).length > 0) output.table(resultTable(run, output.width))
  if (!options.wait) return
  if (run.status !== 'succeeded') throw new Failure(EXIT.failed, outcome(run))
  output.note(outcome(run))
}

import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import type { Run } from '../../../../protocol/nouns/run.ts'
import { EXIT } from '../../../../protocol/settings.ts'
import type { Client } from '../../../client/client.ts'
import { ClientError } from '../../../client/client-error.ts'
import { type Context, connect } from '../../context.ts'
import { Failure, usage } from '../../failure.ts'
import { givenInput } from '../../given-values.ts'
import { originCommit } from '../../origin-commit.ts'
import { eventText, outcome, resultTable } from '../../output/run-text.ts'
import { addRequestOptions, type RequestOptions, requestOf } from './request.ts'

interface RunOptions extends RequestOptions {
  readonly param?: Record<string, unknown>
  readonly follow?: boolean
  readonly local?: boolean
  readonly wait: boolean
  readonly json?: boolean
}

export function addRun(program: Command, context: Context): void {
  const run = program
    .command('run')
    .description('run a flow once, as a recorded batch run, and wait for its end; Ctrl-C cancels it')
    .argument('<flow>', 'the flow')
    .option('-p, --param <name=value>', 'the value of an input, as JSON or text; may be repeated', givenInput)
  addRequestOptions(run, {
    timeout: 'fail the run when it takes longer',
    group: 'the group that the run belongs to',
    key: 'an idempotency key: a second call with it returns the same run',
    tag: 'a name to find the run by, may be repeated',
    note: 'a text to store with the run',
  })
  run
    .option('--follow', 'print the progress of the run on standard error')
    .option('--local', 'run it in an engine inside this process, without a server')
    .option('--no-wait', 'print the id, and do not wait for the end')
    .option('--json', 'print the run as JSON')
    .action(async (flow: string, options: RunOptions, command: Command) => {
      if (options.local && !options.wait) throw usage('--local always waits: leave --no-wait out.')
      const made = await context.interrupts.during(signal =>
        options.local
          ? runLocally(context, command, flow, options, signal)
          : runOnce(context, connect(context, command), flow, options, signal),
      )
      print(context, made, options)
    })
}

/** Runs the flow in an engine that starts and ends with the command. */
async function runLocally(
  context: Context,
  command: Command,
  flow: string,
  options: RunOptions,
  signal: AbortSignal,
): Promise<Run> {
  // Loaded only here, since few commands need it.
  const { LocalEngine } = await import('../../start/local-engine.ts')
  const engine = await LocalEngine.start(context, command)
  try {
    if (signal.aborted) throw new Failure(EXIT.interrupted, 'Interrupted before the run was created.')
    return await runOnce(context, engine.client, flow, options, signal)
  } finally {
    await engine.close()
  }
}

async function runOnce(
  context: Context,
  client: Client,
  flow: string,
  options: RunOptions,
  signal: AbortSignal,
): Promise<Run> {
  // With a key of its own the request may be sent twice, so that a broken connection starts no second run.
  const key = options.key ?? `run:${randomUUID()}`
  const { run, replayed } = await client.runs.create(
    flow,
    requestOf({ ...options, key }, options.param, originCommit(context.cwd)),
  )
  if (replayed && options.key !== undefined) context.output.note(`a run with this key exists: ${run.id}, ${run.status}`)
  if (!options.wait) return run
  try {
    return options.follow ? await follow(context, client, run, signal) : await wait(context, client, run, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    return cancel(context, client, run, options)
  }
}

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

/** Returns the run if it has ended in the meantime; otherwise throws the end of the command. */
async function cancel({ output }: Context, client: Client, { id }: Run, { local }: RunOptions): Promise<Run> {
  output.note(`cancelling run ${id}; Ctrl-C again ${local ? 'ends the engine' : 'stops waiting'}`)
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

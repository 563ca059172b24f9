import type { Command } from 'commander'
import type { Run } from '../../../../protocol/nouns/run.ts'
import type { Client } from '../../../client/client.ts'
import { isFailed } from '../../../client/runs/run-wait.ts'
import { type Context, connect } from '../../context.ts'
import { usage } from '../../failure.ts'

export function addRetry(program: Command, context: Context): void {
  program
    .command('retry')
    .description('run failed and cancelled runs again: one run, or all of a group')
    .argument('[run]', 'the id of the run')
    .option('--group <name>', 'all runs of this group that did not succeed and were not retried since')
    .option('--json', 'print the new runs as JSON')
    .action(async (id: string | undefined, options: { group?: string; json?: boolean }, command: Command) => {
      if ((id === undefined) === (options.group === undefined)) throw usage('Give the id of a run, or --group.')
      const { output } = context
      const client = connect(context, command)
      const failed = id === undefined ? await failedOf(client, options.group!) : [id]
      const runs: Run[] = []
      for (const each of failed) {
        runs.push(await client.runs.retry(each))
        if (failed.length > 1) output.progress(`${runs.length} of ${failed.length} runs`)
      }
      output.progress('')
      if (options.json) return output.json({ items: runs, count: runs.length })
      output.lines(runs.map(run => run.id))
      if (id === undefined)
        output.note(`${runs.length} ${runs.length === 1 ? 'run' : 'runs'} started again in group ${options.group}`)
    })
}

/** The failed runs, oldest first. Of runs with the same flow and inputs only the newest counts. */
async function failedOf(client: Client, group: string): Promise<string[]> {
  const seen = new Set<string>()
  const failed: string[] = []
  for await (const run of client.runs.list({ group })) {
    const what = `${run.flow} ${run.inputs_digest}`
    if (!seen.has(what) && isFailed(run)) failed.push(run.id)
    seen.add(what)
  }
  // The name of the group may be wrong; then this request is refused.
  if (seen.size === 0) await client.metrics.names({ group })
  return failed.reverse()
}

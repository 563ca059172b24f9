import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'

/** `svc runs cancel` and `svc runs delete` take several runs in order; the first refusal ends the command. */

export function addRunsCancel(runs: Command, context: Context): void {
  runs
    .command('cancel')
    .description('cancel queued and running runs; a running body has ten seconds to end')
    .argument('<run...>', 'their ids')
    .action(async (ids: string[], _options: object, command: Command) => {
      const client = connect(context, command)
      for (const id of ids) {
        const { status } = await client.runs.cancel(id)
        context.output.note(status === 'cancelled' ? `run ${id} is cancelled` : `run ${id} is being cancelled`)
      }
    })
}

export function addRunsDelete(runs: Command, context: Context): void {
  runs
    .command('delete')
    .description('delete runs that have ended, with their nodes, metrics and logs')
    .argument('<run...>', 'their ids')
    .action(async (ids: string[], _options: object, command: Command) => {
      const client = connect(context, command)
      for (const id of ids) {
        await client.runs.delete(id)
        context.output.note(`run ${id} is deleted`)
      }
    })
}

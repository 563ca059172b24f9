import type { Command } from 'commander'
import { EXIT } from '../../../../protocol/settings.ts'
import { type Context, connect } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { eventText, outcome } from '../../output/run-text.ts'

export function addRunsFollow(runs: Command, context: Context): void {
  runs
    .command('follow')
    .description('tell what happens in a run until it has ended; Ctrl-C leaves the run to itself')
    .argument('<run>', 'its id')
    .action(async (id: string, _options: object, command: Command) => {
      const { output } = context
      const events = connect(context, command).runs.follow(id)
      for (;;) {
        const next = await events.next()
        if (!next.done) {
          output.lines([eventText(next.value)])
          continue
        }
        if (next.value.status !== 'succeeded') throw new Failure(EXIT.failed, outcome(next.value))
        return output.note(outcome(next.value))
      }
    })
}

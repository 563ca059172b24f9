import type { Command } from 'commander'
import { EXIT } from '../../../../protocol/settings.ts'
import { type Context, connect } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { eventText, outcome } from '../../output/run-text.ts'

export function addRunsFollow(runs: Command, context: Context): void {
  runs
    .command('follow')
    .description('print the progress of a run until it has ended; Ctrl-C stops following, not the run')
    .argument('<run>', 'its id, or the short id from the list')
    .action(async (text: string, _options: object, command: Command) => {
      const { output } = context
      const { runs } = connect(context, command)
      const events = runs.follow(await runs.whole(text))
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

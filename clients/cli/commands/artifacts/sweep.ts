import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { bytes } from '../../output/figures.ts'
import { overBudget } from './budget.ts'

export function addArtifactsSweep(artifacts: Command, context: Context): void {
  artifacts
    .command('sweep')
    .description('remove artifacts that no run and no live message uses, and that are older than an hour')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const report = await connect(context, command).artifacts.sweep()
      if (options.json) return output.json(report)
      const { stood_aside, seen, spared, recorded, held, removed, removed_bytes, over_bytes } = report
      output.note(`removed ${removed} artifacts, ${bytes(removed_bytes)}`)
      output.note(
        `of ${seen} checked, kept: ${spared} stored in the last hour or within ARTIFACTS_KEEP_DAYS, ${recorded} used by runs, ${held} used by messages`,
      )
      if (over_bytes > 0) output.note(overBudget(report.bytes, over_bytes))
      if (stood_aside) output.note('a run is in progress, so the rest was not checked; try again when it has ended')
    })
}

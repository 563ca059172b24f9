import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { bytes } from '../../output/figures.ts'

export function addArtifactsSweep(artifacts: Command, context: Context): void {
  artifacts
    .command('sweep')
    .description('remove what no run records, no live message names and nobody stored in the last hour')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const report = await connect(context, command).artifacts.sweep()
      if (options.json) return output.json(report)
      const { stood_aside, seen, spared, recorded, held, removed, removed_bytes } = report
      output.note(`removed ${removed} artifacts, ${bytes(removed_bytes)}`)
      output.note(
        `of ${seen} seen: ${spared} stored within the hour, ${recorded} recorded by runs, ${held} held by messages`,
      )
      if (stood_aside) output.note('a run is in flight: the rest was left alone; try again when it has ended')
    })
}

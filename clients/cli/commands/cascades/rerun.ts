import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'

export function addCascadesRerun(cascades: Command, context: Context): void {
  cascades
    .command('rerun')
    .description('run an interrupted or failed cascade again with the value that started it')
    .argument('<cascade>', 'its id')
    .option('--json', 'print JSON')
    .action(async (id: string, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const rerun = await connect(context, command).cascades.rerun(id)
      if (options.json) return output.json(rerun)
      output.lines([`${rerun.flow} runs again from ${rerun.root} version ${rerun.root_version}`])
    })
}

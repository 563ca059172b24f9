import { basename, dirname } from 'node:path'
import type { Command } from 'commander'
import { EXIT } from '../../../../protocol/settings.ts'
import { type Context, engineOf } from '../../context.ts'
import type { FoundEngine } from '../../find-engine.ts'

interface TopOptions {
  readonly plain?: boolean
  readonly json?: boolean
}

export function addTop(program: Command, context: Context): void {
  program
    .command('top')
    .description('show what runs now: flows, runs, issues, log; on a terminal until q, elsewhere once')
    .option('--plain', 'print the figures once, as lines')
    .option('--json', 'print the figures once, as JSON')
    .action(async ({ plain, json }: TopOptions, command: Command) => {
      const find = (): FoundEngine => engineOf(context, command)
      const { output, stdin, environment } = context
      if (plain || json || !output.isTerminal || stdin.isTTY !== true || environment['TERM'] === 'dumb') {
        const { printOnce } = await import('../../../terminal/once.ts')
        return printOnce(find, output, json === true)
      }
      const { showDashboard } = await import('../../../terminal/dashboard.ts')
      const { lookOf } = await import('../../../terminal/device/look.ts')
      const how = await showDashboard({
        find,
        name: nameOf(find()),
        input: stdin,
        output: process.stdout,
        look: lookOf(environment),
        greeting: null,
      })
      process.exit(how === 'left' ? EXIT.ok : EXIT.interrupted)
    })
}

/** The name of an installation: the folder that it is in. */
const nameOf = ({ data_dir }: FoundEngine): string =>
  data_dir === null ? '' : basename(data_dir) === '.svc' ? basename(dirname(data_dir)) : basename(data_dir)

import type { Command } from 'commander'
import { settings } from '../../../../protocol/settings.ts'
import type { Context } from '../../context.ts'

const TAKES_VALUE = ['--url', '--data-dir']

/** Used for `svc serve --help` and for options before the word `serve`; main.ts starts the plain form without loading this file. */
export function addServe(program: Command, context: Context): void {
  const serve = program
    .command('serve')
    .description('run the engine of this installation until Ctrl-C')
    .configureHelp({ showGlobalOptions: false })
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async () => {
      const { argv } = context
      const at = argv.findIndex((word, index) => word === 'serve' && !TAKES_VALUE.includes(argv[index - 1] ?? ''))
      const { Supervisor } = await import('../../start/supervisor.ts')
      process.exit(
        await Supervisor.run({
          argv: argv.filter((_, index) => index !== at),
          entry: new URL('../../start/engine-process.ts', import.meta.url),
        }),
      )
    })
  for (const { flag, argument, variable, description, default: byDefault } of Object.values(settings)) {
    if (flag === null) continue
    const from = variable === null ? '' : ` (${variable}, else ${byDefault})`
    serve.option(argument === null ? flag : `${flag} ${argument}`, `${description}${from}`)
  }
}

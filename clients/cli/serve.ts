import type { Command } from 'commander'
import { settings } from '../../protocol/settings.ts'

/** Only for `svc serve --help`: main.ts starts the command itself, without loading any of this. */
export function addServe(program: Command): void {
  const serve = program
    .command('serve')
    .description('run the engine of this installation until Ctrl-C')
    .configureHelp({ showGlobalOptions: false })
    .allowUnknownOption()
  for (const { flag, argument, variable, description, default: byDefault } of Object.values(settings)) {
    if (flag === null) continue
    const from = variable === null ? '' : ` (${variable}, else ${byDefault})`
    serve.option(argument === null ? flag : `${flag} ${argument}`, `${description}${from}`)
  }
}

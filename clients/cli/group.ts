import type { Command } from 'commander'
import { didYouMean } from '../../protocol/nearest.ts'
import type { Context } from './context.ts'

interface Group {
  readonly name: string
  readonly alias?: string
  readonly description: string
  /** One may be the default, which runs without a subcommand: `svc runs` is `svc runs list`. */
  readonly commands: readonly ((group: Command, context: Context) => void)[]
}

/** A command of commands, such as `svc flows`. */
export function addGroup(program: Command, context: Context, { name, alias, description, commands }: Group): void {
  const group = program.command(name).helpCommand(false).description(description)
  if (alias !== undefined) group.alias(alias)
  for (const add of commands) add(group, context)
  const names = group.commands.map(command => command.name())
  // Without this, a misspelled command would be taken as an argument of the default one.
  group.hook('preSubcommand', () => {
    const [word] = group.args
    if (word === undefined || word.startsWith('-') || names.includes(word)) return
    group.error(`error: unknown command '${word}'.${didYouMean(word, names)}`)
  })
}

import type { Command } from 'commander'
import { type Context, connect } from '../../context.ts'
import { addGroup } from '../../group.ts'

export function addModules(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'modules',
    description: 'reload the modules that bodies import',
    commands: [addModulesRefresh],
  })
}

function addModulesRefresh(modules: Command, context: Context): void {
  modules
    .command('refresh')
    .description('reload every body and its imports; installs nothing')
    .action(async (_options: object, command: Command) => {
      await connect(context, command).refreshModules()
      context.output.note('all bodies are reloaded')
    })
}

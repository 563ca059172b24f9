import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addCascadesList } from './list.ts'
import { addCascadesRerun } from './rerun.ts'
import { addCascadesShow } from './show.ts'

export function addCascades(program: Command, context: Context): void {
  const cascades = program
    .command('cascades')
    .helpCommand(false)
    .description('what published values started, and run it again')
  for (const add of [addCascadesList, addCascadesShow, addCascadesRerun]) add(cascades, context)
}

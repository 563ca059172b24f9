import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addGroup } from '../../group.ts'
import { addCascadesList } from './list.ts'
import { addCascadesRerun } from './rerun.ts'
import { addCascadesShow } from './show.ts'

export function addCascades(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'cascades',
    description: 'list the cascades that published values have started, and run them again',
    commands: [addCascadesList, addCascadesShow, addCascadesRerun],
  })
}

import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addRunsDiff } from './diff.ts'
import { addRunsList } from './list.ts'
import { addRunsShow } from './show.ts'

export function addRuns(program: Command, context: Context): void {
  const runs = program.command('runs').helpCommand(false).description('read batch runs')
  for (const add of [addRunsList, addRunsShow, addRunsDiff]) add(runs, context)
}

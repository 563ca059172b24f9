import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { addRunsDiff } from './runs-diff.ts'
import { addRunsList } from './runs-list.ts'
import { addRunsShow } from './runs-show.ts'

export function addRuns(program: Command, context: Context): void {
  const runs = program.command('runs').helpCommand(false).description('read batch runs')
  for (const add of [addRunsList, addRunsShow, addRunsDiff]) add(runs, context)
}

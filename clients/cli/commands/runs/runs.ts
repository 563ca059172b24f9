import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addGroup } from '../../group.ts'
import { addRunsDiff } from './diff.ts'
import { addRunsList } from './list.ts'
import { addRunsLogs } from './logs.ts'
import { addRunsShow } from './show.ts'

export function addRuns(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'runs',
    description: 'read batch runs',
    commands: [addRunsList, addRunsShow, addRunsLogs, addRunsDiff],
  })
}

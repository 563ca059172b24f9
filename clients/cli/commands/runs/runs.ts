import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addGroup } from '../../group.ts'
import { addRunsNote, addRunsTag } from './change.ts'
import { addRunsDiff } from './diff.ts'
import { addRunsCancel, addRunsDelete } from './end.ts'
import { addRunsFollow } from './follow.ts'
import { addRunsList } from './list.ts'
import { addRunsLogs } from './logs.ts'
import { addRunsShow } from './show.ts'

export function addRuns(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'runs',
    description: 'read, follow, tag, cancel and delete batch runs',
    commands: [
      addRunsList,
      addRunsShow,
      addRunsLogs,
      addRunsDiff,
      addRunsFollow,
      addRunsTag,
      addRunsNote,
      addRunsCancel,
      addRunsDelete,
    ],
  })
}

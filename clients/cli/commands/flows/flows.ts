import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addGroup } from '../../group.ts'
import { addFlowsDelete } from './delete.ts'
import { addFlowsDisable, addFlowsEnable } from './enable.ts'
import { addFlowsGet } from './get.ts'
import { addFlowsHistory } from './history.ts'
import { addFlowsList } from './list.ts'
import { addFlowsPurge } from './purge.ts'
import { addFlowsPut } from './put.ts'
import { addFlowsRename } from './rename.ts'
import { addFlowsRestore } from './restore.ts'
import { addFlowsSet } from './set.ts'

export function addFlows(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'flows',
    description: 'read, save, change, enable and delete flows',
    commands: [
      addFlowsList,
      addFlowsGet,
      addFlowsPut,
      addFlowsSet,
      addFlowsEnable,
      addFlowsDisable,
      addFlowsRename,
      addFlowsDelete,
      addFlowsHistory,
      addFlowsRestore,
      addFlowsPurge,
    ],
  })
}

import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addFlowsGet } from './get.ts'
import { addFlowsHistory } from './history.ts'
import { addFlowsList } from './list.ts'
import { addFlowsPurge } from './purge.ts'
import { addFlowsPut } from './put.ts'
import { addFlowsRestore } from './restore.ts'

export function addFlows(program: Command, context: Context): void {
  const flows = program.command('flows').helpCommand(false).description('read, save, restore and purge flows')
  for (const add of [addFlowsList, addFlowsGet, addFlowsPut, addFlowsHistory, addFlowsRestore, addFlowsPurge])
    add(flows, context)
}

import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { addFlowsGet } from './flows-get.ts'
import { addFlowsHistory } from './flows-history.ts'
import { addFlowsList } from './flows-list.ts'
import { addFlowsPurge } from './flows-purge.ts'
import { addFlowsPut } from './flows-put.ts'
import { addFlowsRestore } from './flows-restore.ts'

export function addFlows(program: Command, context: Context): void {
  const flows = program.command('flows').helpCommand(false).description('read, save, restore and purge flows')
  for (const add of [addFlowsList, addFlowsGet, addFlowsPut, addFlowsHistory, addFlowsRestore, addFlowsPurge])
    add(flows, context)
}

import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { addFlowsGet } from './flows-get.ts'
import { addFlowsHistory } from './flows-history.ts'
import { addFlowsList } from './flows-list.ts'
import { addFlowsPut } from './flows-put.ts'
import { addFlowsRestore } from './flows-restore.ts'

export function addFlows(program: Command, context: Context): void {
  const flows = program.command('flows').helpCommand(false).description('read, save and restore flows')
  for (const add of [addFlowsList, addFlowsGet, addFlowsPut, addFlowsHistory, addFlowsRestore]) add(flows, context)
}

import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addNodesShow } from './show.ts'

export function addNodes(program: Command, context: Context): void {
  const nodes = program.command('nodes').helpCommand(false).description('read live nodes: latencies, counts, errors')
  for (const add of [addNodesShow]) add(nodes, context)
}

import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addGroup } from '../../group.ts'
import { addNodesAck } from './ack.ts'
import { addNodesErrors } from './errors.ts'
import { addNodesShow } from './show.ts'
import { addNodesTypes } from './types.ts'

export function addNodes(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'nodes',
    description: 'read live nodes (latencies, counts, errors) and the types of nodes',
    commands: [addNodesShow, addNodesErrors, addNodesAck, addNodesTypes],
  })
}

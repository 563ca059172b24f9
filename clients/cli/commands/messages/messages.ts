import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addGroup } from '../../group.ts'
import { addMessagesGet } from './get.ts'
import { addMessagesList } from './list.ts'

export function addMessages(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'messages',
    description: 'read messages and their latest values',
    commands: [addMessagesList, addMessagesGet],
  })
}

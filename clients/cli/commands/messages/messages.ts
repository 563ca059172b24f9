import type { Command } from 'commander'
import type { Context } from '../../context.ts'
import { addMessagesGet } from './get.ts'
import { addMessagesList } from './list.ts'

export function addMessages(program: Command, context: Context): void {
  const messages = program.command('messages').helpCommand(false).description('read messages and their latest values')
  for (const add of [addMessagesList, addMessagesGet]) add(messages, context)
}

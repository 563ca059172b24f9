import { type Command, Option } from 'commander'
import { limits } from '../../../protocol/limits.ts'
import type { Client } from '../../../protocol/nouns/accounts/client.ts'
import { formatTime } from '../../../protocol/time.ts'
import { SCOPES, type Scope } from '../../../protocol/words/scopes.ts'
import { type Context, connect } from '../context.ts'
import { secondsOf } from '../given-times.ts'
import { addGroup } from '../group.ts'
import { shortTime } from '../output/figures.ts'
import { table } from '../output/table.ts'

interface Added {
  scopes: Scope[]
  expires?: string
  json?: boolean
}

export function addClients(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'clients',
    alias: 'client',
    description: 'agents and programs that act for a user, with some of the scopes of that user',
    commands: [addClientsList, addClientsAdd, addClientsDelete],
  })
}

function addClientsList(clients: Command, context: Context): void {
  clients
    .command('list', { isDefault: true })
    .description('list the clients by name, without their tokens')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const list = await connect(context, command).clients.list()
      if (options.json) return context.output.json(list)
      if (list.items.length === 0)
        return context.output.note('there are no clients; add one with "svc clients add <name>"')
      context.output.table(clientsTable(list.items, context.output.width))
    })
}

function addClientsAdd(clients: Command, context: Context): void {
  clients
    .command('add')
    .description('add a client that acts for you, and print its token; it is shown only once')
    .argument('<name>', 'any text')
    .addOption(new Option('--scopes <scope...>', 'what it may do').choices(SCOPES).makeOptionMandatory())
    .option('--expires <time>', 'how long it is valid: a number and h, d, w or y; at most 10y, which is the default')
    .option('--json', 'print JSON')
    .action(async (name: string, { scopes, expires, json }: Added, command: Command) => {
      const expires_at = expires === undefined ? {} : { expires_at: fromNow(expires) }
      const created = await connect(context, command).clients.create({ name, scopes, ...expires_at })
      if (json) return context.output.json(created)
      const until = created.expires_at === null ? '' : ` until ${shortTime(created.expires_at)}`
      context.output.note(`client ${name} (${created.client_id}) may ${created.scopes.join(', ')}${until}`)
      context.output.lines([created.token])
    })
}

function addClientsDelete(clients: Command, context: Context): void {
  clients
    .command('delete')
    .description('delete a client: its tokens are refused at once')
    .argument('<client_id>', 'the id of the client; "svc clients" shows it')
    .action(async (client_id: string, _options: object, command: Command) => {
      await connect(context, command).clients.delete(client_id)
      context.output.note(`client ${client_id} is deleted`)
    })
}

const fromNow = (text: string): string =>
  formatTime((Date.now() + secondsOf(text, limits.CLIENT_LIFETIME_S) * 1000) * 1000)

const clientsTable = (clients: readonly Client[], width: number | undefined): string[] =>
  table(
    clients,
    [
      { title: 'client', cell: ({ name }) => name },
      { title: 'id', cell: ({ client_id }) => client_id },
      { title: 'scopes', cell: ({ scopes }) => scopes.join(', ') },
      { title: 'for', cell: ({ owner }) => owner ?? '' },
      { title: 'status', cell: ({ status }) => status },
      { title: 'used', cell: ({ last_used }) => (last_used === null ? 'never' : shortTime(last_used)) },
      { title: 'expires', cell: ({ expires_at }) => (expires_at === null ? '' : shortTime(expires_at)) },
    ],
    width,
  )

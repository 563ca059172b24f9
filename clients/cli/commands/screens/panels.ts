import type { Command } from 'commander'
import type { Panel } from '../../../../protocol/nouns/panel.ts'
import { EXIT } from '../../../../protocol/settings.ts'
import type { Client } from '../../../client/client.ts'
import { type Context, connect } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { addGroup } from '../../group.ts'
import { table } from '../../output/table.ts'

export function addPanels(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'panels',
    description: 'screens that show dashboards without a user: create, approve and unpair them',
    commands: [addPanelsList, addPanelsCreate, addPanelsSet, addPanelsApprove, addPanelsUnpair, addPanelsDelete],
  })
}

function addPanelsList(panels: Command, context: Context): void {
  panels
    .command('list', { isDefault: true })
    .description('list the panels with their dashboards')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const list = await connect(context, command).panels.list()
      if (options.json) return output.json(list)
      if (list.items.length === 0) return output.note('there are no panels; create one with "svc panels create"')
      output.table(panelsTable(list.items, output.width))
    })
}

function addPanelsCreate(panels: Command, context: Context): void {
  panels
    .command('create')
    .description('create a panel; then approve the code that its screen shows')
    .argument('<name>', 'a name for the screen')
    .argument('<dashboards...>', 'the dashboards that it shows, in this order')
    .option('--json', 'print JSON')
    .action(async (name: string, dashboards: string[], options: { json?: boolean }, command: Command) => {
      const { output } = context
      const panel = await connect(context, command).panels.create({ name, dashboards })
      if (options.json) return output.json(panel)
      output.table(panelsTable([panel], output.width))
    })
}

function addPanelsSet(panels: Command, context: Context): void {
  panels
    .command('set')
    .description('give a panel other dashboards; its screens may read and publish what these allow, at once')
    .argument('<panel>', 'the panel: its name or its id')
    .argument('<dashboards...>', 'the dashboards that it shows, in this order')
    .option('--json', 'print JSON')
    .action(async (given: string, dashboards: string[], options: { json?: boolean }, command: Command) => {
      const { output } = context
      const client = connect(context, command)
      const { id } = await findPanel(client, given)
      const panel = await client.panels.change(id, { dashboards })
      if (options.json) return output.json(panel)
      output.table(panelsTable([panel], output.width))
    })
}

function addPanelsApprove(panels: Command, context: Context): void {
  panels
    .command('approve')
    .description('approve the screen that shows the code as this panel')
    .argument('<panel>', 'the panel: its name or its id')
    .argument('<code>', 'the six characters on the screen')
    .action(async (given: string, code: string, _options: object, command: Command) => {
      const client = connect(context, command)
      const { id, name } = await findPanel(client, given)
      await client.panels.approve(id, code)
      context.output.note(`the screen with the code ${code.toUpperCase()} is the panel ${name}`)
    })
}

function addPanelsUnpair(panels: Command, context: Context): void {
  panels
    .command('unpair')
    .description('refuse the screens of a panel from now on; its name and dashboards stay')
    .argument('<panel>', 'the panel: its name or its id')
    .action(async (given: string, _options: object, command: Command) => {
      const client = connect(context, command)
      const { id, name } = await findPanel(client, given)
      await client.panels.unpair(id)
      context.output.note(`the screens of panel ${name} are refused`)
    })
}

function addPanelsDelete(panels: Command, context: Context): void {
  panels
    .command('delete')
    .description('remove a panel; its screens are refused at once')
    .argument('<panel>', 'the panel: its name or its id')
    .action(async (given: string, _options: object, command: Command) => {
      const client = connect(context, command)
      const { id, name } = await findPanel(client, given)
      await client.panels.delete(id)
      context.output.note(`panel ${name} is removed`)
    })
}

/** Finds a panel by its name, its id, or the end of the id. */
async function findPanel(client: Client, given: string): Promise<Panel> {
  const { items } = await client.panels.list()
  const named = items.filter(({ id, name }) => name === given || id === given)
  const found = named.length > 0 ? named : items.filter(({ id }) => given.length >= SHORT && id.endsWith(given))
  if (found.length === 1) return found[0]!
  const problem = found.length === 0 ? 'There is no panel' : `${found.length} panels have an id that ends with`
  throw new Failure(EXIT.refused, `${problem} "${given}". "svc panels list" lists them.`)
}

const SHORT = 4

const panelsTable = (items: readonly Panel[], width: number | undefined): string[] =>
  table(
    items,
    [
      { title: 'panel', cell: ({ name }) => name },
      { title: 'id', cell: ({ id }) => id.slice(-8) },
      { title: 'paired', cell: ({ paired }) => (paired ? 'yes' : 'no') },
      { title: 'screens', align: 'right', cell: ({ connected }) => String(connected) },
      { title: 'dashboards', cell: ({ dashboards }) => dashboards.join(', ') },
    ],
    width,
  )

import type { Command } from 'commander'
import type { Flavor } from '../../../protocol/nouns/flavor.ts'
import { type Context, connect } from '../context.ts'
import { numberOf, wholeOf } from '../counts.ts'
import { addGroup } from '../group.ts'
import { duration } from '../output/figures.ts'
import { table } from '../output/table.ts'

export function addFlavors(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'flavors',
    description: 'list, save and delete flavors: the named sizes that nodes request',
    commands: [addFlavorsList, addFlavorsPut, addFlavorsDelete],
  })
}

function addFlavorsList(flavors: Command, context: Context): void {
  flavors
    .command('list', { isDefault: true })
    .description('list the flavors by name')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const list = await connect(context, command).flavors.list()
      if (options.json) return output.json(list)
      if (list.items.length === 0) return output.note('there are no flavors; create one with "svc flavors put <name>"')
      output.table(flavorsTable(list.items, output.width))
    })
}

interface PutOptions {
  readonly cpus?: number
  readonly gpus?: number
  readonly ram?: string
  readonly duration?: number
  readonly json?: boolean
}

function addFlavorsPut(flavors: Command, context: Context): void {
  flavors
    .command('put')
    .description('create or replace a flavor; a resource that is not given is not requested')
    .argument('<name>', 'the flavor')
    .option('--cpus <count>', 'cores', numberOf('--cpus'))
    .option('--gpus <count>', 'cards', wholeOf('--gpus'))
    .option('--ram <size>', 'memory: a number of MB, or a size such as 2G')
    .option('--duration <seconds>', 'the expected time; not a limit', numberOf('--duration'))
    .option('--json', 'print JSON')
    .action(async (name: string, { json, cpus, gpus, ram, duration }: PutOptions, command: Command) => {
      const { output } = context
      const flavor = await connect(context, command).flavors.put(name, {
        ...(cpus === undefined ? {} : { cpus }),
        ...(gpus === undefined ? {} : { gpus }),
        ...(ram === undefined ? {} : { ram }),
        ...(duration === undefined ? {} : { duration_s: duration }),
      })
      if (json) return output.json(flavor)
      output.table(flavorsTable([flavor], output.width))
    })
}

function addFlavorsDelete(flavors: Command, context: Context): void {
  flavors
    .command('delete')
    .description('remove a flavor that no node uses')
    .argument('<name>', 'the flavor')
    .action(async (name: string, _options: object, command: Command) => {
      await connect(context, command).flavors.delete(name)
      context.output.note(`flavor ${name} is removed`)
    })
}

const flavorsTable = (flavors: readonly Flavor[], width: number | undefined): string[] =>
  table(
    flavors,
    [
      { title: 'flavor', cell: ({ name }) => name },
      { title: 'cpus', align: 'right', cell: ({ cpus }) => String(cpus ?? '') },
      { title: 'gpus', align: 'right', cell: ({ gpus }) => String(gpus ?? '') },
      { title: 'ram MB', align: 'right', cell: ({ ram }) => String(ram ?? '') },
      { title: 'expected', align: 'right', cell: each => (each.duration_s === null ? '' : duration(each.duration_s)) },
    ],
    width,
  )

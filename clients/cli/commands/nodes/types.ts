import type { Command } from 'commander'
import { nearest } from '../../../../protocol/nearest.ts'
import type { NodeTypeInfo, PortRule } from '../../../../protocol/nouns/node-type.ts'
import { EXIT } from '../../../../protocol/settings.ts'
import { type Context, connect } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { table } from '../../output/table.ts'

export function addNodesTypes(nodes: Command, context: Context): void {
  nodes
    .command('types')
    .description('list the types of nodes, or show the settings and ports of one')
    .argument('[type]', 'a type of node')
    .option('--json', 'print JSON')
    .action(async (name: string | undefined, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const list = await connect(context, command).nodes.types()
      if (name === undefined) {
        if (options.json) return output.json(list)
        return output.table(typesTable(list.items, output.width))
      }
      const type = list.items.find(one => one.name === name)
      if (type === undefined) throw new Failure(EXIT.refused, unknown(name, list.items))
      if (options.json) return output.json(type)
      output.lines([output.style('bold', type.name), type.summary, `runs on   ${type.place}`, ''])
      const settings = settingsOf(type)
      if (settings.length === 0) output.lines(['no settings with names of their own'])
      else output.table(settingsTable(settings, output.width))
      output.lines(['', `inputs    ${portsText(type.inputs)}`, `outputs   ${portsText(type.outputs)}`])
    })
}

function unknown(name: string, types: readonly NodeTypeInfo[]): string {
  const names = types.map(type => type.name)
  const meant = nearest(name, names)
  return `There is no type of node "${name}". ${meant === null ? `There are ${names.join(', ')}.` : `Did you mean "${meant}"?`}`
}

const typesTable = (types: readonly NodeTypeInfo[], width: number | undefined): string[] =>
  table(
    types,
    [
      { title: 'type', cell: ({ name }) => name },
      { title: 'runs on', cell: ({ place }) => place },
      { title: 'does', cell: ({ summary }) => summary },
    ],
    width,
  )

interface Setting {
  readonly name: string
  readonly default: string
  readonly description: string
}

function settingsOf({ settings }: NodeTypeInfo): Setting[] {
  const { properties = {}, required = [] } = settings as {
    properties?: Record<string, { default?: unknown; unit?: string; description?: string }>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    default: required.includes(name)
      ? 'must be given'
      : schema.default === undefined
        ? ''
        : JSON.stringify(schema.default),
    description: `${schema.description ?? ''}${schema.unit === undefined ? '' : ` (${schema.unit})`}`,
  }))
}

const settingsTable = (settings: readonly Setting[], width: number | undefined): string[] =>
  table(
    settings,
    [
      { title: 'setting', cell: ({ name }) => name },
      { title: 'default', cell: setting => setting.default },
      { title: 'is', cell: ({ description }) => description },
    ],
    width,
  )

function portsText({ kind, ports = [], description = '', more }: PortRule): string {
  if (kind === 'none') return 'none'
  if (kind !== 'known') return description
  const named = ports.map(
    ({ name, dtypes, required }) => `${name} (${dtypes.join(', ')})${required ? ', required' : ''}`,
  )
  return [...named, ...(more === undefined ? [] : [more])].join('; ')
}

import type { Command } from 'commander'
import { didYouMean } from '../../../../protocol/nearest.ts'
import type { SaveFlow } from '../../../../protocol/nouns/flow.ts'
import type { FlowDocument, FlowNode } from '../../../../protocol/nouns/flow-document.ts'
import { EXIT } from '../../../../protocol/settings.ts'
import { type Context, connect } from '../../context.ts'
import { Failure, usage } from '../../failure.ts'
import { givenValue } from '../../given-values.ts'
import { printSaved } from './put.ts'

interface SetOptions {
  readonly string?: boolean
  readonly message?: string
  readonly json?: boolean
}

export function addFlowsSet(flows: Command, context: Context): void {
  flows
    .command('set')
    .description('change one setting of a node, and save the flow')
    .argument('<name>', 'the flow')
    .argument('<node.setting>', "the node's id and the setting, such as smooth.window")
    .argument('<value>', 'the value: JSON; anything else is taken as a string')
    .option('--string', 'take the value as a string even when it is valid JSON')
    .option('--message <text>', 'the reason for the change, for the history')
    .option('--json', 'print JSON')
    .action(async (name: string, path: string, given: string, options: SetOptions, command: Command) => {
      const dot = path.indexOf('.')
      if (dot < 1 || dot === path.length - 1) throw usage(`${path} is not <node>.<setting>, such as smooth.window.`)
      const [id, setting] = [path.slice(0, dot), path.slice(dot + 1)]
      const client = connect(context, command)
      const { document, version } = await client.flows.get(name)
      const saved = await client.flows.save(name, {
        document: withSetting(document as FlowDocument, name, id, {
          [setting]: options.string ? given : givenValue(given),
        }),
        // A version that was saved in the meantime is not overwritten.
        base_version: version,
        message: options.message ?? `${path} = ${given}`,
      } as SaveFlow)
      if (options.json) return context.output.json(saved)
      printSaved(context.output, saved)
    })
}

function withSetting(document: FlowDocument, flow: string, id: string, setting: FlowNode['settings']): FlowDocument {
  const ids = document.nodes.map(node => node.id)
  if (!ids.includes(id))
    throw new Failure(
      EXIT.refused,
      `Flow "${flow}" has no node "${id}".${didYouMean(id, ids)} Its nodes: ${ids.join(', ')}.`,
    )
  const nodes = document.nodes.map(node =>
    node.id === id ? { ...node, settings: { ...node.settings, ...setting } } : node,
  )
  return { ...document, nodes }
}

import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { Issue } from '../../protocol/nouns/issue.ts'
import { agrees } from '../../protocol/values/dtype.ts'
import type { World } from './facts.ts'

/**
 * Doubtful wiring of a flow, given the other flows as they are now. Derived on read: an issue disappears when the missing flow
 * or message appears.
 *
 * Of a flow that only batch runs can wake, a message without a producer is an input of each run, not an issue.
 */
export function issuesOf(flow: string, document: NormalDocument, world: World): Issue[] {
  const issues: Issue[] = []
  const declared = new Set(document.inputs.map(input => input.message))
  for (const node of document.nodes) for (const port of node.ports.outputs) declared.add(port.message)
  const isBatchOnly = onlyRunsWake(document)
  for (const node of document.nodes)
    for (const port of node.ports.inputs) {
      const add = (code: string, message: string): void => {
        issues.push({ code, advisory: false, message, node: node.id, since: null })
      }
      const dot = port.message.indexOf('.')
      const owner = dot === -1 ? flow : port.message.slice(0, dot)
      const name = port.message.slice(dot + 1)
      const reads = `Port "${port.name}" of node "${node.id}" reads "${port.message}"`
      if (owner === flow) {
        if (!declared.has(name) && !isBatchOnly)
          add('unknown_message', `${reads}, which nothing in this flow produces.`)
        continue
      }
      const facts = world.flow(owner)
      const message = facts?.messages.get(name)
      if (!facts) add('unknown_flow', `${reads}, but there is no flow "${owner}".`)
      else if (!message) add('unknown_message', `${reads}, but flow "${owner}" has no message "${name}".`)
      else if (!agrees(message.dtype, port.dtype))
        add('dtype_mismatch', `${reads} as ${port.dtype}, but it carries ${message.dtype}.`)
    }
  return issues
}

/** Nobody can publish to it: it declares no input, no node publishes by itself, and it reads no other flow. */
const onlyRunsWake = ({ nodes, inputs }: NormalDocument): boolean =>
  inputs.length === 0 &&
  nodes.every(({ type, ports }) => type === 'code' && ports.inputs.every(({ message }) => !message.includes('.')))

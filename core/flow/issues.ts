import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { Issue } from '../../protocol/nouns/issue.ts'
import { agrees, type Dtype } from '../../protocol/values/dtype.ts'
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
  /** Null: nothing is doubtful about that message. */
  const doubt = (read: string, dtype: Dtype | null): { code: string; text: string } | null => {
    const dot = read.indexOf('.')
    const owner = dot === -1 ? flow : read.slice(0, dot)
    const name = read.slice(dot + 1)
    if (owner === flow) {
      if (declared.has(name) || isBatchOnly) return null
      return { code: 'unknown_message', text: ', which nothing in this flow produces.' }
    }
    const facts = world.flow(owner)
    const message = facts?.messages.get(name)
    if (!facts) return { code: 'unknown_flow', text: `, but there is no flow "${owner}".` }
    if (!message) return { code: 'unknown_message', text: `, but flow "${owner}" has no message "${name}".` }
    if (dtype === null || agrees(message.dtype, dtype)) return null
    return { code: 'dtype_mismatch', text: ` as ${dtype}, but it carries ${message.dtype}.` }
  }
  for (const node of document.nodes) {
    const look = (what: string, read: string, dtype: Dtype | null): void => {
      const found = doubt(read, dtype)
      if (found === null) return
      issues.push({ code: found.code, advisory: false, message: `${what}${found.text}`, node: node.id, since: null })
    }
    for (const { name, message, dtype } of node.ports.inputs)
      look(`Port "${name}" of node "${node.id}" reads "${message}"`, message, dtype)
    const answer = node.type === 'webhook' ? node.settings['answer'] : null
    if (typeof answer === 'string') look(`Node "${node.id}" answers with "${answer}"`, answer, null)
  }
  return issues
}

/** Nobody can publish to it: it declares no input, no node publishes by itself, and it reads no other flow. */
const onlyRunsWake = ({ nodes, inputs }: NormalDocument): boolean =>
  inputs.length === 0 &&
  nodes.every(({ type, ports }) => type === 'code' && ports.inputs.every(({ message }) => !message.includes('.')))

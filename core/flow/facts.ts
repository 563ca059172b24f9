import { qualify } from '../../protocol/names.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'

/** What other flows may know of a flow: the messages that it declares and the foreign ones that it mentions. */
export interface FlowFacts {
  flow: string
  enabled: boolean
  /** By name within the flow. */
  messages: ReadonlyMap<string, MessageFacts>
  /** Messages of other flows (qualified) that a port with `trigger` reads. */
  triggers: ReadonlySet<string>
  /** Every message of another flow (qualified) that a port names. */
  references: ReadonlySet<string>
}

export interface MessageFacts {
  dtype: Dtype
  /** The id of the node that produces it; null for a flow input. */
  producer: string | null
}

/** The flows that are there, as a check sees them. */
export interface World {
  flow(name: string): FlowFacts | null
}

/** The document is taken as checked: each message has one producer. */
export function factsOf(flow: string, document: NormalDocument, enabled: boolean): FlowFacts {
  const messages = new Map<string, MessageFacts>()
  const triggers = new Set<string>()
  const references = new Set<string>()
  for (const input of document.inputs) messages.set(input.message, { dtype: input.dtype, producer: null })
  for (const node of document.nodes) {
    for (const port of node.ports.outputs) messages.set(port.message, { dtype: port.dtype, producer: node.id })
    for (const port of node.ports.inputs) {
      const name = qualify(flow, port.message)
      if (name.startsWith(`${flow}.`)) continue
      references.add(name)
      if (port.trigger) triggers.add(name)
    }
  }
  return { flow, enabled, messages, triggers, references }
}

import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import { nowUs } from '../../protocol/time.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import { KIND } from '../../protocol/values/encoded.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import { clearMessage } from './ended-flows.ts'
import type { LiveFlow } from './flow.ts'
import type { MessageMap } from './message-map.ts'

/** A flow input's default, when the message has no value: bumps the version and wakes nobody. */
export function seedDefaults(flow: LiveFlow, front: FrontMemory, map: MessageMap): void {
  for (const input of flow.document.inputs) {
    const message = map.get(`${flow.name}.${input.message}`)
    if (message === undefined || input.default === undefined || hasValue(front, message.index)) continue
    const encoded = newEncoded()
    if (front.codec.encode(input.default, input.dtype, encoded) !== null) continue
    front.publisher.seed(message.route, encoded, nowUs())
    flow.seeded.add(message.index)
  }
  front.journal.mark()
}

function hasValue(front: FrontMemory, message: number): boolean {
  const read = { ...newEncoded(), version: 0, ts: 0 }
  return front.messages.read(message, read) && read.kind !== KIND.none
}

/** A message whose dtype changed since the document before has no value until the next publish. */
export function clearRetyped(flow: LiveFlow, before: NormalDocument, front: FrontMemory, map: MessageMap): void {
  const dtypes = dtypesOf(before)
  for (const [name, dtype] of dtypesOf(flow.document)) {
    const message = map.get(`${flow.name}.${name}`)
    if (message !== undefined && dtypes.get(name) !== undefined && dtypes.get(name) !== dtype)
      clearMessage(front, message.index, flow.index)
  }
}

/** Of all messages that the document declares. */
export function dtypesOf(document: NormalDocument): Map<string, string> {
  const dtypes = new Map(document.inputs.map(input => [input.message, input.dtype as string]))
  for (const node of document.nodes) for (const port of node.ports.outputs) dtypes.set(port.message, port.dtype)
  return dtypes
}

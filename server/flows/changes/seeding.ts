import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import { newEncoded } from '../../../protocol/values/codec.ts'
import { KIND } from '../../../protocol/values/encoded.ts'
import type { FrontMemory } from '../../lanes/front-memory.ts'
import type { LiveFlow } from '../flow.ts'
import type { MessageMap } from '../message-map.ts'

/** A flow input's default, when the message has no value: bumps the version and wakes nobody. */
export function seedDefaults(flow: LiveFlow, front: FrontMemory, map: MessageMap): void {
  for (const input of flow.document.inputs) {
    const message = map.get(`${flow.name}.${input.message}`)
    if (message === undefined || input.default === undefined || hasValue(front, message.index)) continue
    const encoded = newEncoded()
    if (front.codec.encode(input.default, input.dtype, encoded) !== null) continue
    front.publisher.seed(message.route, encoded, front.clock.now_us())
    flow.seeded.add(message.index)
  }
  front.journal.mark()
}

function hasValue(front: FrontMemory, message: number): boolean {
  const read = { ...newEncoded(), version: 0, ts: 0 }
  return front.messages.read(message, read) && read.kind !== KIND.none
}

/** Messages that come or go with the document, or get another dtype: whatever had their names before, they have no value. */
export function renewedMessages(before: NormalDocument | null, after: NormalDocument): string[] {
  const old = before === null ? new Map<string, string>() : dtypesOf(before)
  const now = dtypesOf(after)
  const renewed = [...old.keys()].filter(name => !now.has(name))
  for (const [name, dtype] of now) if (old.get(name) !== dtype) renewed.push(name)
  return renewed
}

function dtypesOf(document: NormalDocument): Map<string, string> {
  const dtypes = new Map(document.inputs.map(input => [input.message, input.dtype as string]))
  for (const node of document.nodes) for (const port of node.ports.outputs) dtypes.set(port.message, port.dtype)
  return dtypes
}

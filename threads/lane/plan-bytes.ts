import { deserialize, serialize } from 'node:v8'
import type { Plan, PlanMessage, PlanNode } from '../../core/flow/plan.ts'
import type { Steps } from '../../core/steps.ts'

/**
 * A plan as bytes in shared memory: made once for all lanes, and posted by reference. Cloning the objects took the front 25 ms a
 * lane for 2,000 nodes.
 *
 *   u32 length, bytes of the head | u32 length, bytes of a node | ... | u32 length, bytes of some messages | ...
 */
export type PlanBytes = SharedArrayBuffer

interface Head extends Omit<Plan, 'nodes' | 'messages' | 'by_message'> {
  nodes: number
  /** All own messages have the same: written once. */
  downstream: number[]
}

const LENGTH_BYTES = 4
const MESSAGES_IN_PART = 128
const COPIES_IN_STEP = 128
const NOTHING: number[] = []

/**
 * The parts of a plan that do not change any more, one behind the other, each with its length before it; in steps of a node or of some
 * messages each.
 */
export function* encodePlanSteps({ nodes, messages }: Plan): Steps<Buffer> {
  const parts: Buffer[] = []
  for (const node of nodes) {
    parts.push(serialize(node))
    yield
  }
  for (let from = 0; from < messages.length; from += MESSAGES_IN_PART) {
    const some = messages.slice(from, from + MESSAGES_IN_PART)
    parts.push(serialize(some.map(message => ({ ...message, downstream: NOTHING }))))
    yield
  }
  const joined = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + LENGTH_BYTES + part.length, 0))
  let at = 0
  for (const [number, part] of parts.entries()) {
    at = joined.writeUInt32LE(part.length, at)
    at += part.copy(joined, at)
    if (number % COPIES_IN_STEP === 0) yield
  }
  return joined
}

/** `parts` are those of this plan. */
export function planBytes(plan: Plan, parts: Buffer): PlanBytes {
  const { nodes, messages, by_message: _, ...rest } = plan
  const downstream = messages.find(message => message.own)?.downstream ?? NOTHING
  const head = serialize({ ...rest, nodes: nodes.length, downstream } satisfies Head)
  const shared = new SharedArrayBuffer(LENGTH_BYTES + head.length + parts.length)
  const bytes = Buffer.from(shared)
  const at = bytes.writeUInt32LE(head.length)
  head.copy(bytes, at)
  parts.copy(bytes, at + head.length)
  return shared
}

export function decodePlan(shared: PlanBytes): Plan {
  // A copy: what is decoded would refer to it otherwise.
  const bytes = Buffer.from(Buffer.from(shared))
  let at = 0
  const next = (): unknown => {
    const from = at + LENGTH_BYTES
    at = from + bytes.readUInt32LE(at)
    return deserialize(bytes.subarray(from, at))
  }
  const { nodes: count, downstream, ...head } = next() as Head
  const nodes: PlanNode[] = []
  while (nodes.length < count) {
    const node = next() as PlanNode
    // An array of its own: posting the node would clone the whole buffer behind it.
    nodes.push({ ...node, upstream: node.upstream.slice() })
  }
  const messages: PlanMessage[] = []
  while (at < bytes.length) messages.push(...(next() as PlanMessage[]))
  for (const message of messages) if (message.own) message.downstream = downstream
  return {
    ...head,
    nodes,
    messages,
    by_message: new Map(messages.map((message, position) => [message.index, position])),
  }
}

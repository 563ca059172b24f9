import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import type { LiveMessage } from '../../../server/flows/flow.ts'
import type { MessageMap } from '../../../server/flows/message-map.ts'
import { LiveMessages } from '../../../server/flows/messages.ts'
import type { Names } from '../../../server/flows/names.ts'
import { FrontMemory } from '../../../server/lanes/front-memory.ts'
import type { Store } from '../../../server/store/front/client.ts'
import { smallMemory } from '../../kit/memory.ts'

/** Messages `f.a` (flow 0) and `g.b` (flow 1), over a memory of the test's own. */
function messagesOver(sizes: Parameters<typeof smallMemory>[0]) {
  const memory = smallMemory(sizes)
  const front = new FrontMemory(memory)
  const message = (name: string, index: number, flow: number): LiveMessage => ({
    name,
    flow: name.slice(0, 1),
    index,
    dtype: 'str' as Dtype,
    publisher: null,
    route: { message: index, flow, queued: true, foreign: [], downstream: [flow] },
    enabled: true,
  })
  const known = new Map([message('f.a', 0, 0), message('g.b', 1, 1)].map(one => [one.name, one]))
  const map = { get: (name: string) => known.get(name) } as unknown as MessageMap
  const names = { flowName: (flow: number) => ['f', 'g'][flow] ?? null } as unknown as Names
  return { memory, front, messages: new LiveMessages(front, map, names, {} as Store) }
}

const list = (count: number, length: number) =>
  Array.from({ length: count }, (_, at) => ({
    name: at % 2 === 0 ? 'f.a' : 'g.b',
    value: String(at % 10).repeat(length),
  }))

function refusedWhole({ memory, front, messages }: ReturnType<typeof messagesOver>, items: ReturnType<typeof list>) {
  const held = () => {
    const { problems, items, segments, slabs } = auditMemory(memory)
    return [problems, items, segments.held, slabs.held]
  }
  const before = held()
  assert.throws(
    () => messages.publish(items),
    (error: ServiceError) => error instanceof ServiceError && error.code === 'backlogged',
  )
  assert.deepEqual([front.messages.version(0), front.messages.version(1)], [0, 0], 'no value of the list has a version')
  assert.deepEqual(held(), before, 'everything that was had for it is back')
}

describe('a list is refused whole, and leaves no value behind, when half-way', () => {
  test('the memory for values runs out', () => {
    const engine = messagesOver({ arena_bytes: 4 << 20, ring_bytes: 1 << 18 })
    refusedWhole(engine, list(60, 100_000))
    assert.equal(engine.messages.publish(list(20, 100_000)).length, 20, 'a shorter one has room')
  })

  test('the memory for waiting items runs out', () => {
    const engine = messagesOver({ queue_segments: 8, ring_bytes: 1 << 20 })
    refusedWhole(engine, list(60, 900))
    assert.deepEqual(
      engine.messages.publish(list(4, 900)).map(one => `${one.name}@${one.version}`),
      ['f.a@1', 'g.b@1', 'f.a@2', 'g.b@2'],
    )
  })

  test('the store is behind', () => {
    refusedWhole(messagesOver({ ring_bytes: 1 << 16 }), list(80, 1000))
  })
})

test('a list as long as a request may be is published whole, in its order', () => {
  const { memory, front, messages } = messagesOver({
    queue_segments: 1024,
    ring_bytes: 1 << 23,
    arena_bytes: 16 << 20,
  })
  const published = messages.publish(list(1_000, 1_020))
  assert.equal(published.length, 1_000)
  assert.deepEqual(published.at(-1), { name: 'g.b', version: 500 })
  assert.deepEqual([front.flows.queued(0), front.flows.queued(1)], [500, 500])
  assert.deepEqual(auditMemory(memory).problems, [])
})

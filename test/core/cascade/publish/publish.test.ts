import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditMemory } from '../../../../core/cascade/audit.ts'
import type { REFUSED } from '../../../../core/cascade/publish/refused.ts'
import { smallMemory } from '../../../kit/memory.ts'
import { takeAll, takeCascades } from '../kit/recovered.ts'
import { emission, emptyItem, float, refusal, route, Station, Store, text, told } from '../kit/station.ts'

const FRONT = 1
const LANE = 8

function engine(sizes: Parameters<typeof smallMemory>[0] = {}, bounds?: ConstructorParameters<typeof Station>[2]) {
  const memory = smallMemory(sizes)
  return {
    memory,
    front: new Station(memory, FRONT, bounds),
    lane: new Station(memory, LANE, bounds),
    store: new Store(memory, [FRONT, LANE]),
  }
}

describe('a publish', () => {
  test('gives the value a version, puts it into the flow, and marks the flow for any lane', () => {
    const { memory, front, lane } = engine()
    assert.equal(front.publisher.publish(route(3, 5), float(1.5), 100), 1)
    assert.equal(front.publisher.publish(route(3, 5), float(2.5), 101), 2)
    assert.equal(lane.ready.take(0, 0), 5)
    assert.equal(lane.ready.take(0, 0), -1)
    assert.deepEqual(takeAll(lane, 5), ['3@1=1.5', '3@2=2.5'])
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('carries values of every size to every reader and to the store, and releases their slabs', () => {
    const { memory, front, lane, store } = engine({ ring_bytes: 1 << 18, arena_bytes: 16 << 20 })
    const sizes = [0, 1, 80, 81, 1024, 1025, 4096, 4097, 70_000, 1 << 20]
    sizes.forEach((size, index) => {
      const line = `3@${index + 1}=${told(text(size, size))}`
      assert.equal(front.publisher.publish(route(3, 5, [2, 9]), text(size, size), 100), index + 1)
      assert.deepEqual(auditMemory(memory).problems, [], `${size} bytes wait`)
      for (const flow of [2, 5, 9]) assert.deepEqual(takeAll(lane, flow), [line])
      front.endUnit()
      store.drain()
      assert.equal(store.lines.at(-1), line)
      assert.deepEqual(auditMemory(memory).problems, [], `${size} bytes were taken`)
    })
    assert.equal(auditMemory(memory).slabs.held, 2, 'only the two slots of the message hold a slab')
  })

  test('never takes a message back in time for the clock of another thread, only for a clock that was set', () => {
    const { memory, front, lane, store } = engine()
    const seconds = 1e6
    front.publisher.publish(route(3, 5), float(1), 100 * seconds)
    lane.publisher.publishInner(route(3, 5), float(2), 100 * seconds - 2_000, 0, 0, 0)
    lane.publisher.publishInner(route(3, 5, [6]), float(3), 100 * seconds - 1_000, 0, 0, 0)
    lane.publisher.publishInner(route(3, 5), float(4), 100 * seconds + 1, 0, 0, 0)
    front.publisher.publish(route(3, 5), float(5), 40 * seconds)
    front.endUnit()
    lane.endUnit()
    store.drain()
    const times = store.times.get(3)!.sort((a, b) => a.version - b.version)
    assert.deepEqual(
      times.map(({ ts }) => ts - 100 * seconds),
      [0, 0, 0, 1, -60 * seconds],
    )
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('of a lane puts nothing into its own flow, and a child one level deeper into each flow that reads it', () => {
    const { memory, lane } = engine()
    assert.equal(lane.publisher.publishInner(route(3, 5, [6]), float(1), 100, 4, 77, 99), 1)
    assert.equal(lane.flows.queued(5), 0)
    const item = emptyItem()
    assert.ok(lane.flows.claim(6, lane.owner))
    assert.ok(lane.queue.take(6, item))
    assert.deepEqual([item.depth, item.parent_seq, item.parent_ts, item.version], [5, 77, 99, 1])
    lane.flows.release(6, lane.owner)
    lane.endUnit()
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('without readers leaves the value in the table and marks nobody', () => {
    const { front, lane } = engine()
    assert.equal(front.publisher.publish(route(3, 5, [], false), float(1), 100), 1)
    assert.equal(lane.ready.take(0, 0), -1)
    assert.equal(lane.messages.version(3), 1)
  })

  test('that seeds a value wakes nobody and is journalled; a value that the store brought back is not', () => {
    const { front, store, lane } = engine()
    assert.equal(front.publisher.seed(route(3, 5, [6]), float(1), 100, 41), 41)
    assert.equal(front.publisher.seed(route(3, 5, [6]), float(2), 100), 42)
    assert.equal(front.publisher.publish(route(3, 5, [6], false), float(3), 100), 43)
    front.endUnit()
    store.drain()
    assert.deepEqual(store.lines, ['3@42=2', '3@43=3'])
    assert.equal(lane.ready.take(0, 0), 6)
    assert.deepEqual(takeAll(lane, 6), ['3@43=3'])
  })
})

describe('a publish is refused, and nothing changes, when', () => {
  const refused = (
    { memory, front }: { memory: Parameters<typeof auditMemory>[0]; front: Station },
    code: keyof typeof REFUSED,
    value = float(1),
    where = route(3, 5),
  ) => {
    const version = front.messages.version(where.message)
    const before = auditMemory(memory)
    assert.equal(refusal(front.publisher.publish(where, value, 100)), code)
    assert.equal(front.messages.version(where.message), version)
    const after = auditMemory(memory)
    assert.deepEqual([after.problems, after.items, after.slabs.held], [[], before.items, before.slabs.held])
  }

  test('a flow downstream stands at its bound of items', () => {
    const engaged = engine({}, { items: 10, bytes: 1 << 20, hard_factor: 4 })
    const { front, lane } = engaged
    for (let i = 0; i < 10; i++) assert.ok(front.publisher.publish(route(3, 5), float(i), 100) > 0)
    refused(engaged, 'backlogged')
    refused(engaged, 'backlogged', float(1), { ...route(4, 6), downstream: [6, 7, 5] })
    assert.equal(takeAll(lane, 5).length, 10)
    assert.equal(front.publisher.publish(route(3, 5), float(1), 100), 11)
  })

  test('mailboxes and children count towards the bound', () => {
    const engaged = engine({}, { items: 10, bytes: 1 << 20, hard_factor: 4 })
    engaged.lane.flows.setInner(5, 10, 0)
    refused(engaged, 'backlogged')
    engaged.lane.flows.setInner(5, 1, 1 << 20)
    refused(engaged, 'backlogged')
    engaged.lane.flows.setInner(5, 9, 0)
    assert.ok(engaged.front.publisher.publish(route(3, 5), float(1), 100) > 0)
    assert.equal(engaged.front.flows.waiting(5), 10)
  })

  test('a flow downstream stands at its bound of bytes', () => {
    const engaged = engine({}, { items: 1000, bytes: 20_000, hard_factor: 4 })
    const { front } = engaged
    while (front.flows.waitingBytes(5) < 20_000) assert.ok(front.publisher.publish(route(3, 5), text(1, 3000), 100) > 0)
    refused(engaged, 'backlogged')
  })

  test('the arena is nearly full; the rest is for cascades that run', () => {
    const engaged = engine({ arena_bytes: 4 << 20 })
    const { front, lane, store } = engaged
    const big = text(1, 100_000)
    while (front.publisher.publish(route(3, 5), big, 100) > 0) {
      front.endUnit()
      store.drain()
    }
    refused(engaged, 'arena_full', big)
    assert.ok(front.publisher.publish(route(3, 5), float(1), 100) > 0, 'a number needs no slab')
    assert.ok(lane.publisher.publishInner(route(4, 6), big, 100, 0, 1, 1) > 0)
  })

  test('the pool of segments is empty, also for a flow that only reads the message', () => {
    const engaged = engine({ queue_segments: 4 })
    const { front } = engaged
    while (front.publisher.publish(route(3, 5), text(1, 900), 100) > 0);
    refused(engaged, 'queue_full', text(1, 900))
    refused(engaged, 'queue_full', float(1), route(4, 6))
    refused(engaged, 'queue_full', float(1), route(4, 6, [7], false))
    assert.ok(takeAll(engaged.lane, 5).length > 8)
    assert.ok(front.publisher.publish(route(4, 6), float(1), 100) > 0)
    assert.deepEqual(auditMemory(engaged.memory).problems, [])
  })

  test('the store is behind', () => {
    const engaged = engine()
    while (engaged.front.publisher.publish(route(3, 5, [], false), text(1, 60), 100) > 0);
    // A shorter record may still fit in.
    refused(engaged, 'journal_full', text(1, 60))
    engaged.front.endUnit()
    engaged.store.drain()
    assert.ok(engaged.front.publisher.publish(route(3, 5, [], false), text(1, 60), 100) > 0)
  })

  test('a thread is blocked inside the flow for longer than the patience', () => {
    const { front, lane } = engine()
    assert.ok(lane.flows.lockPublish(6, lane.owner))
    assert.equal(refusal(front.publisher.publish(route(3, 5, [6]), float(1), 100)), 'held')
    assert.equal(front.flows.publisherOf(5), 0, 'the word of the own flow was let go')
    lane.flows.unlockPublish(6, lane.owner)
    assert.equal(front.publisher.publish(route(3, 5, [6]), float(1), 100), 1)
  })
})

describe('a publish of a lane is never refused for back pressure', () => {
  test('a child is dropped and counted once its flow stands at the hard cap', () => {
    const { lane, memory } = engine({}, { items: 10, bytes: 1 << 20, hard_factor: 4 })
    for (let i = 1; i <= 45; i++)
      assert.equal(lane.publisher.publishInner(route(3, 5, [6, 7]), float(i), 100, 0, 1, 1), i)
    assert.equal(lane.flows.queued(6), 40)
    assert.equal(lane.flows.dropped(6), 5)
    assert.equal(lane.flows.dropped(7), 5)
    assert.equal(lane.dropped.length, 10)
    assert.deepEqual(takeAll(lane, 6).at(-1), '3@40=40')
    lane.endUnit()
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('a child is dropped and counted when no segment is left; the value and its other children stand', () => {
    const { front, lane, memory } = engine({ queue_segments: 4 })
    assert.ok(front.publisher.publish(route(4, 6), float(1), 100) > 0)
    while (front.publisher.publish(route(3, 5), text(1, 900), 100) > 0);
    assert.equal(lane.publisher.publishInner(route(8, 1, [6, 7]), text(2, 2000), 100, 0, 1, 1), 1)
    assert.deepEqual(lane.dropped, [{ flow: 7, message: 8 }])
    assert.deepEqual(takeAll(lane, 6), ['4@1=1', `8@1=${told(text(2, 2000))}`])
    lane.endUnit()
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('only a large value may find no slab', () => {
    const { lane, memory } = engine({ arena_bytes: 1 << 20, ring_bytes: 1 << 18 })
    const big = text(1, 50_000)
    let publishes = 0
    while (lane.publisher.publishInner(route(3, 5, [6]), big, 100, 0, 1, 1) > 0) publishes++
    assert.ok(publishes > 5)
    assert.equal(refusal(lane.publisher.publishInner(route(3, 5, [6]), big, 100, 0, 1, 1)), 'arena_full')
    assert.equal(lane.messages.version(3), publishes)
    lane.endUnit()
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('without room in its journal it is a mistake of the lane, and nothing changes', () => {
    const { lane, memory } = engine()
    while (lane.journal.hasRoom(200)) lane.publisher.publishInner(route(3, 5), text(1, 60), 100, 0, 1, 1)
    const version = lane.messages.version(3)
    assert.throws(() => lane.publisher.publishInner(route(3, 5), text(1, 4000), 100, 0, 1, 1), RangeError)
    assert.equal(lane.messages.version(3), version)
    lane.endUnit()
    assert.deepEqual(auditMemory(memory).problems, [])
  })
})

describe('a list', () => {
  const routes = [route(3, 5, [2]), route(4, 6), route(3, 5, [2])]
  const values = [float(1), text(1, 2000), float(2)]

  test('is published whole: one cascade each, versions and order those of the list', () => {
    const { memory, front, lane, store } = engine()
    const versions: number[] = []
    assert.equal(front.publisher.publishList(routes, values, 100, versions), 0)
    assert.deepEqual(versions, [1, 1, 2])
    for (const flow of [5, 2]) assert.deepEqual(takeCascades(lane, flow), [['3@1=1'], ['3@2=2']])
    assert.deepEqual(takeAll(lane, 6), [`4@1=${told(values[1]!)}`])
    front.endUnit()
    store.drain()
    assert.deepEqual(store.lines, ['3@1=1', `4@1=${told(values[1]!)}`, '3@2=2'])
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('of which one value would pass a bound is refused, and says which one', () => {
    const { memory, front } = engine({}, { items: 10, bytes: 1 << 20, hard_factor: 4 })
    const versions: number[] = []
    for (let i = 0; i < 9; i++) front.publisher.publish(route(3, 5), float(i), 100)
    assert.equal(refusal(front.publisher.publishList(routes, values, 100, versions)), 'backlogged')
    assert.equal(front.publisher.refused_at, 2)
    assert.deepEqual([front.messages.version(3), front.messages.version(4)], [9, 0])
    assert.equal(front.publisher.publishList(routes.slice(0, 2), values, 100, versions), 0)
    assert.deepEqual(versions, [10, 1])
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('waits for a blocked thread in one of its flows no longer than the patience, and releases the others', () => {
    const { memory, front, lane } = engine()
    assert.ok(lane.flows.lockPublish(6, lane.owner))
    assert.equal(refusal(front.publisher.publishList(routes, values, 100, [])), 'held')
    assert.deepEqual(
      [2, 5].map(flow => front.flows.publisherOf(flow)),
      [0, 0],
    )
    lane.flows.unlockPublish(6, lane.owner)
    assert.equal(front.publisher.publishList(routes, values, 100, []), 0)
    assert.deepEqual(auditMemory(memory).problems, [])
  })
})

describe('values that are published together', () => {
  const routes = [route(3, 5, [2]), route(4, 5), route(6, 7)]
  const values = [float(1), text(1, 2000), float(2)]
  const flows = [2, 5, 7]

  test('are taken into one cascade by each flow, and the store knows of each item that it belongs to the group', () => {
    const { memory, front, lane, store } = engine()
    const versions: number[] = []
    front.publisher.publish(routes[0]!, float(0), 100)
    assert.equal(front.publisher.publishTogether(routes, flows, values, 100, versions), 0)
    assert.deepEqual(versions, [2, 1, 1])
    const long = `4@1=${told(values[1]!)}`
    assert.deepEqual(takeCascades(lane, 5), [['3@1=0'], ['3@2=1', long]])
    assert.deepEqual(takeCascades(lane, 2), [['3@1=0'], ['3@2=1']])
    assert.deepEqual(takeCascades(lane, 7), [['6@1=2']])
    front.endUnit()
    store.drain()
    assert.deepEqual(store.lines, ['3@1=0', '3@2=1', long, '6@1=2'])
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('are refused whole when one of their flows is full', () => {
    const { memory, front } = engine({}, { items: 10, bytes: 1 << 20, hard_factor: 4 })
    for (let i = 0; i < 9; i++) front.publisher.publish(route(9, 5), float(i), 100)
    assert.equal(refusal(front.publisher.publishTogether(routes, flows, values, 100, [])), 'backlogged')
    assert.deepEqual([front.messages.version(3), front.messages.version(4), front.messages.version(6)], [0, 0, 0])
    assert.deepEqual(auditMemory(memory).problems, [])
  })
})

describe('an emission of which another flow reads several messages', () => {
  const a = route(3, 5, [2, 9])
  const b = route(4, 5, [9])
  const c = route(5, 5, [])
  const flows = [2, 5, 9]

  test('is one cascade there, and one in each flow that reads one of them', () => {
    const { memory, lane } = engine()
    for (const n of [1, 2]) {
      const given = emission([
        [a, float(n)],
        [b, text(n, 3000)],
        [c, float(n)],
      ])
      lane.publisher.publishEmission(given, flows, 100, 4, 77, 99)
      assert.deepEqual(given.versions, [n, n, n])
    }
    lane.publisher.publishInner(a, float(3), 100, 4, 77, 99)
    const child = (n: number) => [`3@${n}=${n}`, `4@${n}=${told(text(n, 3000))}`]
    assert.deepEqual(takeCascades(lane, 9), [child(1), child(2), ['3@3=3']])
    assert.deepEqual(takeCascades(lane, 2), [['3@1=1'], ['3@2=2'], ['3@3=3']])
    assert.equal(lane.flows.queued(5), 0)
    lane.endUnit()
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('gives a flow at its hard cap none of its items, each counted, and the others theirs', () => {
    const { memory, lane } = engine({}, { items: 10, bytes: 1 << 20, hard_factor: 4 })
    lane.flows.setInner(9, 40, 0)
    const given = emission([
      [a, float(1)],
      [b, float(2)],
    ])
    lane.publisher.publishEmission(given, flows, 100, 0, 1, 1)
    assert.deepEqual(given.versions, [1, 1])
    assert.deepEqual(lane.dropped, [
      { flow: 9, message: 3 },
      { flow: 9, message: 4 },
    ])
    assert.equal(lane.flows.dropped(9), 2)
    assert.deepEqual([lane.flows.queued(9), takeCascades(lane, 2)], [0, [['3@1=1']]])
    lane.endUnit()
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('gives a flow all of its items or none when segments run out', () => {
    const { memory, lane } = engine({ queue_segments: 3 })
    for (let n = 0; n < 3; n++) lane.publisher.publishInner(route(7, 5, [9]), text(1, 1000), 100, 0, 1, 1)
    for (let n = 0; n < 3; n++) lane.publisher.publishInner(route(8, 5, [2]), text(1, 1000), 100, 0, 1, 1)
    const given = emission([
      [a, text(1, 1000)],
      [b, text(2, 1000)],
      [b, text(3, 1000)],
      [b, text(4, 1000)],
    ])
    lane.publisher.publishEmission(given, flows, 100, 0, 1, 1)
    assert.deepEqual(
      lane.dropped.map(drop => drop.flow),
      [9, 9, 9, 9],
      'the third segment goes to the flow that needs no more, since it comes first',
    )
    assert.deepEqual([lane.flows.queued(9), lane.flows.queued(2)], [3, 4])
    lane.endUnit()
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('leaves out a value that finds no slab; the rest of it stays together', () => {
    const { memory, lane } = engine({ arena_bytes: 1 << 20, ring_bytes: 1 << 18 })
    const big = text(1, 200_000)
    while (lane.publisher.publishInner(route(8, 1, [7]), big, 100, 0, 1, 1) > 0);
    const given = emission([
      [a, float(1)],
      [c, big],
      [b, float(2)],
    ])
    lane.publisher.publishEmission(given, flows, 100, 0, 1, 1)
    assert.deepEqual([given.versions[0], refusal(given.versions[1]!), given.versions[2]], [1, 'arena_full', 1])
    assert.deepEqual(takeCascades(lane, 9), [['3@1=1', '4@1=2']])
    lane.endUnit()
    assert.deepEqual(auditMemory(memory).problems, [])
  })
})

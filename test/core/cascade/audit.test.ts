import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { FLOW_ROW } from '../../../core/cascade/flows.ts'
import { SHARED_SET } from '../../../core/cascade/queue/ready.ts'
import { NODE_ROW } from '../../../core/memory/counters.ts'
import { NodeStates } from '../../../core/memory/states.ts'
import { smallMemory } from '../../kit/memory.ts'
import { emptyItem, float, route, Station, Store, text } from './kit/station.ts'

const FLOW = 5
const READER = 2

/** A memory in use: a flow with items of both kinds, a node with a state, slabs in table, queue and journal. */
function used() {
  const memory = smallMemory({ ring_bytes: 1 << 17 })
  const timer = new Station(memory, 4)
  const lane = new Station(memory, 8)
  for (let i = 0; i < 3; i++) {
    assert.ok(timer.publisher.publish(route(1, FLOW, [READER]), text(i, 6000), 100) > 0)
    assert.ok(timer.publisher.publish(route(2, FLOW), float(i), 100) > 0)
  }
  assert.ok(new NodeStates(memory, lane.arena).write(3, Buffer.from('state')))
  return { memory, timer, lane, row: lane.flows.row(FLOW) }
}

describe('the audit', () => {
  test('finds nothing wrong with a memory in use, and counts what is there', () => {
    const { memory, timer, lane } = used()
    const before = auditMemory(memory)
    assert.deepEqual(before.problems, [])
    assert.deepEqual([before.items, before.segments.held], [9, 2])
    // two versions in the table (the first one in queues and journal alone) and a state
    assert.equal(before.slabs.held, 4)
    timer.endUnit()
    new Store(memory, [4]).drain()
    assert.deepEqual(auditMemory(memory).problems, [])
    for (const flow of [FLOW, READER]) {
      assert.ok(lane.flows.claim(flow, lane.owner))
      while (lane.queue.take(flow, emptyItem()));
      lane.flows.release(flow, lane.owner)
    }
    const after = auditMemory(memory)
    assert.deepEqual([after.problems, after.items, after.slabs.held], [[], 0, 3])
  })

  const found = (spoil: (parts: ReturnType<typeof used>) => void): string[] => {
    const parts = used()
    spoil(parts)
    return auditMemory(parts.memory).problems
  }

  test('finds a publish word that is still held', () => {
    assert.match(found(({ timer }) => void timer.flows.lockPublish(FLOW, timer.owner)).join(), /publish word is held/)
  })

  test('finds work in a free flow that no set marks', () => {
    assert.deepEqual(
      found(({ lane }) => lane.ready.unmark(SHARED_SET, FLOW)),
      [`flow ${FLOW}: has work and no mark`],
    )
  })

  test('finds bytes that are counted and not there', () => {
    const { row } = used()
    assert.match(
      found(({ memory }) => {
        const copy = memory.i32[row + FLOW_ROW.word.appended]! & 1
        memory.i32[row + FLOW_ROW.word.appended_bytes_even + copy]! += 64
      }).join(),
      /bytes in the chain, \d+ counted/,
    )
  })

  test('finds a segment that no chain holds, and one that is on its way', () => {
    const problems = found(({ lane }) => {
      lane.queue.pool.take(FLOW)
      lane.queue.pool.settle(lane.queue.pool.take(FLOW), FLOW)
    })
    assert.equal(problems.filter(problem => /lost by flow 5/.test(problem)).length, 2)
    assert.equal(problems.filter(problem => /on its way to flow 5/.test(problem)).length, 1)
  })

  test('finds a reference too many, and one too few', () => {
    const nameless = found(({ lane }) => {
      lane.arena.commit(lane.arena.allocate(500))
    })
    assert.match(nameless.join(), /1 references, named in 0 places/)
    const dangling = found(({ memory, lane }) => {
      const state = memory.i32[((memory.regions.nodes.offset + 3 * NODE_ROW.size) >> 2) + NODE_ROW.word.state_ref]!
      lane.arena.release(state)
    })
    assert.match(dangling.join(), /0 references, named in 1 places/)
  })

  test('finds a slab that was handed to the table and never handed over by its thread', () => {
    assert.match(
      found(({ lane }) => {
        lane.flows.setCarry(FLOW, lane.arena.allocate(500))
      }).join(),
      /held in state/,
    )
  })

  test('finds a mark that no summary names', () => {
    assert.match(
      found(({ memory, lane }) => {
        // the leaf bit alone, as a thread leaves it that dies in between
        const before = Int32Array.from(memory.i32.subarray(memory.regions.ready.offset >> 2))
        lane.ready.mark(3, 40)
        const words = memory.i32.subarray(memory.regions.ready.offset >> 2)
        const changed = [...before.keys()].filter(i => i < words.length && words[i] !== before[i])
        words[changed[0]!] = before[changed[0]!]!
      }).join(),
      /are hidden/,
    )
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SegmentPool } from '../../../../core/cascade/queue/segments.ts'
import { smallMemory } from '../../../kit/memory.ts'

const SEGMENTS = 70

describe('the pool of segments', () => {
  const pools = () => {
    const memory = smallMemory({ queue_segments: SEGMENTS })
    return [1, 8, 9].map(slot => new SegmentPool(memory, slot)) as [SegmentPool, SegmentPool, SegmentPool]
  }

  test('gives each segment once, whoever asks, and says so when there is none', () => {
    const all = pools()
    const given = Array.from({ length: SEGMENTS }, (_, i) => all[i % all.length]!.take(i % 5))
    assert.deepEqual(
      given.toSorted((a, b) => a - b),
      Array.from({ length: SEGMENTS }, (_, i) => i),
    )
    for (const pool of all) assert.equal(pool.take(1), -1)
  })

  test('knows the flow of a segment, on its way into the chain and in it', () => {
    const [pool, other] = pools()
    const segment = pool.take(3)
    assert.deepEqual([other.flowOf(segment), other.isLoose(segment), other.isOffered(segment)], [3, true, false])
    pool.settle(segment, 3)
    assert.deepEqual([other.flowOf(segment), other.isLoose(segment)], [3, false])
    pool.give(segment)
    assert.deepEqual([other.flowOf(segment), other.isLoose(segment), other.isOffered(segment)], [-1, false, true])
  })

  test('gives a thread the segment that it gave back last, unless another one was quicker', () => {
    const [pool, other] = pools()
    const segments = [pool.take(1), pool.take(1), pool.take(1)]
    pool.give(segments[1]!)
    assert.equal(pool.take(2), segments[1])
    pool.give(segments[1]!)
    const taken = new Set<number>()
    for (let i = 0; i < SEGMENTS - 2; i++) taken.add(other.take(4))
    assert.ok(taken.has(segments[1]!))
    assert.equal(pool.take(2), -1)
  })

  test('shows a free segment again that a dead thread left hidden', () => {
    const memory = smallMemory({ queue_segments: SEGMENTS })
    const [pool, front] = [new SegmentPool(memory, 8), new SegmentPool(memory, 1)]
    const segment = pool.take(1)
    // the thread gave it back and died before it cleared the bit
    const word = memory.i32.indexOf(-2)
    assert.ok(word > 0)
    memory.i32[word] = 0
    assert.deepEqual([front.flowOf(segment), front.isOffered(segment)], [-1, false])
    front.repair()
    assert.ok(front.isOffered(segment))
  })
})

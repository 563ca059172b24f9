import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  depthOf,
  GROUP,
  groupOf,
  kindOf,
  newItem,
  packWhat,
  publisherOf,
  QUEUE_ITEM,
  unitsAt,
  unitsOf,
} from '../../../../core/cascade/queue/item.ts'
import { KIND } from '../../../../core/memory/encoded.ts'
import { limits } from '../../../../protocol/limits.ts'
import { smallMemory } from '../../../kit/memory.ts'
import { float, Station, text } from '../kit/station.ts'

const CACHE_LINE = 64

describe('an item of a queue', () => {
  test('takes one cache line with a number, and lies on no second one', () => {
    const memory = smallMemory()
    const { queue } = new Station(memory, 8)
    for (let i = 1; i <= 200; i++) assert.ok(queue.append(5, 1, 0, i, 100, 0, 0, float(i), 0))
    for (const position of queue.positions(5)) assert.equal((queue.pool.start + position * 8) % CACHE_LINE, 0)
    assert.equal(unitsOf(float(1), 0) * 8, CACHE_LINE)
  })

  test('tells kind, group, publisher and depth apart, each at its bound', () => {
    const kinds = Object.values(KIND)
    const groups = [0, GROUP.joins | GROUP.goes_on | GROUP.again]
    const slots = [0, 1, limits.THREADS - 1]
    const depths = [0, 1, limits.WAVE_DEPTH + 1]
    for (const kind of kinds)
      for (const group of groups)
        for (const slot of slots)
          for (const depth of depths) {
            const what = packWhat(kind, group, slot, depth) | 0
            assert.deepEqual(
              [kindOf(what), groupOf(what), publisherOf(what), depthOf(what)],
              [kind, group, slot, depth],
            )
          }
  })

  test('that is deeper than any wave may be comes out too deep, and of its own kind', () => {
    const { queue } = new Station(smallMemory(), 8)
    queue.append(5, 17, 2 ** 20, 1, 100, 0, 0, float(0.5), 0, GROUP.goes_on)
    const item = newItem()
    assert.ok(queue.take(5, item))
    assert.ok(item.depth > limits.WAVE_DEPTH)
    assert.deepEqual(
      [item.message, item.group, item.value.kind, item.value.number],
      [17, GROUP.goes_on, KIND.float, 0.5],
    )
  })

  test('says how long it is', () => {
    const memory = smallMemory()
    const { queue } = new Station(memory, 8)
    const values = [float(1), text(1, 0), text(2, 1), text(3, 8), text(4, 1000)]
    for (const value of values) assert.ok(queue.append(5, 1, 0, 1, 100, 0, 0, value, 0))
    const lengths = [...queue.positions(5)].map(position => unitsAt(memory.i32, (queue.pool.start + position * 8) >> 2))
    assert.deepEqual(
      lengths,
      values.map(value => unitsOf(value, 0)),
    )
    assert.ok(QUEUE_ITEM.size < CACHE_LINE)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { emptyItem, float, route, Station, smallMemory, text, told } from './kit/station.ts'

describe('a publish', () => {
  test('gives the value a version, puts it into the flow, and marks the flow', () => {
    const memory = smallMemory()
    const front = new Station(memory, 1)
    const lane = new Station(memory, 8)
    assert.equal(front.publisher.publish(route(3, 5), float(1.5), 100), 1)
    assert.equal(front.publisher.publish(route(3, 5), float(2.5), 101), 2)
    assert.equal(lane.ready.take(0, 0), 5)
    assert.ok(lane.flows.claim(5, lane.owner))
    const item = emptyItem()
    assert.ok(lane.queue.take(5, item))
    assert.deepEqual([item.message, item.version, item.ts, told(item.value)], [3, 1, 100, '1.5'])
    assert.ok(lane.queue.take(5, item))
    assert.deepEqual([item.message, item.version, item.ts, told(item.value)], [3, 2, 101, '2.5'])
    assert.equal(lane.queue.take(5, item), false)
    lane.flows.release(5, lane.owner)
  })

  test('carries values of every size', () => {
    const memory = smallMemory()
    const front = new Station(memory, 1)
    const lane = new Station(memory, 8)
    const sizes = [0, 1, 80, 81, 1024, 1025, 4096, 4097, 70_000, 1 << 20]
    const item = emptyItem()
    for (const size of sizes) {
      assert.ok(front.publisher.publish(route(3, 5, [2, 9]), text(size, size), 100) > 0, `${size}`)
      for (const flow of [2, 5, 9]) {
        assert.ok(lane.flows.claim(flow, lane.owner))
        assert.ok(lane.queue.take(flow, item))
        assert.equal(told(item.value), told(text(size, size)))
        lane.flows.release(flow, lane.owner)
      }
    }
  })
})

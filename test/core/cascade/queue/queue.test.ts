import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { auditMemory } from '../../../../core/cascade/audit.ts'
import { FLOW_ROW } from '../../../../core/cascade/flows.ts'
import { smallMemory } from '../../../kit/memory.ts'
import { takeAll } from '../kit/recovered.ts'
import { emptyItem, float, route, Station, text, told } from '../kit/station.ts'

describe('a queue', () => {
  test('gives its items in order, over many segments', () => {
    const memory = smallMemory({ queue_segments: 64 })
    const lane = new Station(memory, 8)
    const expected: string[] = []
    for (let i = 1; i <= 400; i++) {
      const value = i % 3 === 0 ? text(i, (i * 37) % 1024) : float(i)
      assert.ok(lane.queue.append(5, 1, 0, i, 100 + i, 0, 0, value, 0))
      expected.push(`1@${i}=${told(value)}`)
    }
    assert.equal(lane.queue.length(5), 400)
    assert.equal(lane.queue.oldest(5), 101)
    assert.deepEqual(takeAll(lane, 5), expected)
    assert.equal(lane.queue.oldest(5), 0)
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('carries all that belongs to an item', () => {
    const { queue } = new Station(smallMemory(), 8)
    queue.append(5, 17, 3, 2 ** 40, 1.7e15, 77, 1.6e15, float(0.1), 0)
    const item = emptyItem()
    assert.ok(queue.take(5, item))
    const { message, depth, version, ts, parent_seq, parent_ts, value } = item
    assert.deepEqual(
      [message, depth, version, ts, parent_seq, parent_ts, value.number],
      [17, 3, 2 ** 40, 1.7e15, 77, 1.6e15, 0.1],
    )
  })

  test('keeps items of an open unit from a thread that remembers older marks', () => {
    const memory = smallMemory()
    const [front, lane] = [new Station(memory, 1), new Station(memory, 8)]
    const published = (): number => front.publisher.publish(route(3, 5), float(1), 100, false)
    published()
    lane.queue.look()
    assert.deepEqual([lane.queue.isTakeable(5), takeAll(lane, 5)], [false, []])
    front.endUnit()
    published()
    assert.deepEqual([lane.queue.isTakeable(5), takeAll(lane, 5)], [true, ['3@1=1']])
    published()
    front.endUnit()
    published()
    assert.deepEqual(takeAll(lane, 5), ['3@2=1', '3@3=1'])
    front.endUnit()
    lane.queue.look()
    assert.deepEqual(takeAll(lane, 5), ['3@4=1'])
  })

  test('goes on when its counters wrap', () => {
    const memory = smallMemory()
    const lane = new Station(memory, 8)
    const row = lane.flows.row(5)
    for (const field of ['appended', 'taken'] as const) memory.i32[row + FLOW_ROW.word[field]] = 0x7ffffffe
    for (let i = 1; i <= 5; i++) lane.queue.append(5, 1, 0, i, 100, 0, 0, float(i), 0)
    assert.equal(lane.flows.queued(5), 5)
    assert.deepEqual(takeAll(lane, 5), ['1@1=1', '1@2=2', '1@3=3', '1@4=4', '1@5=5'])
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('that is empty keeps one segment while few flows do, and none after that', () => {
    const memory = smallMemory({ flows: 1000, queue_segments: 512 })
    const lane = new Station(memory, 8)
    for (let flow = 0; flow < 1000; flow++) {
      assert.ok(lane.queue.append(flow, 1, 0, 1, 100, 0, 0, float(flow), 0))
      assert.deepEqual(takeAll(lane, flow), [`1@1=${flow}`])
    }
    assert.equal(auditMemory(memory).segments.held, 16)
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('that is trimmed gives all its segments back, and is filled again', () => {
    const memory = smallMemory()
    const lane = new Station(memory, 8)
    for (let round = 0; round < 3; round++) {
      for (let i = 1; i <= 100; i++) lane.queue.append(5, 1, 0, i, 100, 0, 0, float(i), 0)
      assert.equal(takeAll(lane, 5).length, 100)
      lane.queue.cool(5)
      assert.equal(auditMemory(memory).segments.held, 0)
    }
    assert.deepEqual(auditMemory(memory).problems, [])
  })

  test('is full when the pool is, and goes on when a segment came back', () => {
    const memory = smallMemory({ queue_segments: 2 })
    const lane = new Station(memory, 8)
    let appended = 0
    while (lane.queue.append(5, 1, 0, 1, 100, 0, 0, float(1), 0)) appended++
    assert.ok(appended > 100, 'a segment holds many items')
    assert.equal(lane.queue.append(6, 1, 0, 1, 100, 0, 0, float(1), 0), false)
    const item = emptyItem()
    for (let i = 0; i <= appended / 2; i++) assert.ok(lane.queue.take(5, item))
    assert.ok(lane.queue.append(6, 1, 0, 1, 100, 0, 0, float(1), 0))
    assert.deepEqual(auditMemory(memory).problems, ['flow 5: has work and no mark', 'flow 6: has work and no mark'])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { FLOW_ROW } from '../../../core/cascade/flows.ts'
import { limits } from '../../../protocol/limits.ts'
import { smallMemory } from '../../kit/memory.ts'
import { float, Station } from './kit/station.ts'

describe('a flow', () => {
  test('has one owner at a time', () => {
    const memory = smallMemory()
    const first = new Station(memory, 8)
    const second = new Station(memory, 9)
    assert.ok(first.flows.claim(5, first.owner))
    assert.equal(second.flows.claim(5, second.owner), false)
    assert.equal(first.flows.claim(5, first.owner), false)
    assert.equal(second.flows.ownerOf(5), first.owner)
    assert.throws(() => second.flows.release(5, second.owner), RangeError)
    first.flows.release(5, first.owner)
    assert.ok(second.flows.claim(5, second.owner))
    assert.equal(second.flows.lastLane(5), 9)
  })

  test('lets one publisher in at a time, beside its owner', () => {
    const memory = smallMemory()
    const lane = new Station(memory, 8)
    const timer = new Station(memory, 4)
    assert.ok(lane.flows.claim(5, lane.owner))
    assert.ok(timer.flows.lockPublish(5, timer.owner))
    assert.equal(lane.flows.tryLockPublish(5, lane.owner), false)
    assert.equal(lane.flows.lockPublish(5, lane.owner, 1), false)
    assert.equal(lane.flows.publisherOf(5), timer.owner)
    timer.flows.unlockPublish(5, timer.owner)
    assert.equal(lane.flows.publisherOf(5), 0)
  })

  test('counts what waits in its queue and inside its owner, as a share of the bound', () => {
    const { flows, queue } = new Station(smallMemory(), 8)
    for (let i = 0; i < 3; i++) queue.append(5, 1, 0, 1, 100, 0, 0, float(i), 0)
    flows.setInner(5, 7, 640)
    assert.deepEqual([flows.queued(5), flows.waiting(5), flows.waitingBytes(5)], [3, 10, 3 * 64 + 640])
    assert.equal(flows.share(5), 10 / limits.FLOW_WAITING_ITEMS)
    flows.setInner(5, 0, 2 * limits.FLOW_WAITING_BYTES)
    assert.ok(flows.share(5) > 2)
    assert.ok(flows.isOver(5, 3, 1 << 30) && !flows.isOver(5, 4, 1 << 30) && flows.isOver(5, 4, 1 << 20))
  })

  test('hands its carry from owner to owner, and says which one it displaced', () => {
    const { flows } = new Station(smallMemory(), 8)
    assert.equal(flows.setCarry(5, 111), 0)
    assert.equal(flows.setCarry(5, 222), 111)
    assert.deepEqual([flows.carry(5), flows.carryVersion(5)], [222, 2])
  })

  test('has a row that is empty after a reset', () => {
    const { flows, queue } = new Station(smallMemory(), 8)
    queue.append(5, 1, 0, 1, 100, 0, 0, float(1), 0)
    flows.reset(5)
    assert.equal(flows.queued(5), 0)
    assert.throws(() => flows.reset(64), RangeError)
  })
})

test('the wide row of a flow is a plain object to V8, not a hash table', () => {
  setFlagsFromString('--allow-natives-syntax')
  const isPlain = new Function('object', 'return %HasFastProperties(object)')
  assert.ok(isPlain(FLOW_ROW.word))
  assert.ok(isPlain(FLOW_ROW.offset))
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SHARED_SET, setOf } from '../../../core/cascade/queue/ready.ts'
import { recoverThread } from '../../../core/cascade/recover.ts'
import { ThreadTable } from '../../../core/memory/threads.ts'
import { smallMemory } from '../../kit/memory.ts'
import { dieAtEachStep } from './kit/deaths.ts'
import { assertSound, recoverAfterDeath } from './kit/recovered.ts'
import { float, route, Station } from './kit/station.ts'

const scenario = (name: string): URL => new URL(`./${name}.scenario.ts`, import.meta.url)

describe('a thread that dies at any step', () => {
  test('of a publish has published or has not: versions go on, every reader and the store agree', async () => {
    assert.ok((await dieAtEachStep(scenario('publish-dies'))) > 100)
  })

  test('of a list leaves its first values whole or none, and no segment linked ahead', async () => {
    assert.ok((await dieAtEachStep(scenario('list-dies'))) > 100)
  })

  test('of an emission that another flow reads leaves a group that is short, runs as one cascade, and ends where it ends', async () => {
    assert.ok((await dieAtEachStep(scenario('group-dies'))) > 100)
  })

  test('of a row of short values leaves the beginning of it, as one cascade here and after a restart', async () => {
    assert.ok((await dieAtEachStep(scenario('row-dies'))) > 30)
  })

  test('of telling a lane leaves the owner of each flow, or any lane, told', async () => {
    assert.ok((await dieAtEachStep(scenario('mark-dies'))) > 100)
  })

  test('of its turns leaves no flow without a mark, no item lost or taken twice, no segment and no slab', async () => {
    assert.ok((await dieAtEachStep(scenario('lane-dies'))) > 300)
  })

  test('of the schedule of its values leaves them in order, with their count, and no slab lost', async () => {
    assert.ok((await dieAtEachStep(scenario('schedule-dies'))) > 100)
  })

  test('of the timer while it publishes what is due: its successor goes on, and each is published once', async () => {
    assert.ok((await dieAtEachStep(scenario('release-dies'))) > 100)
  })
})

describe('what a dead lane owned', () => {
  test('is free again, keeps its carry, and has nothing inside it any more', () => {
    const memory = smallMemory()
    const lane = new Station(memory, 8)
    assert.ok(lane.flows.claim(5, lane.owner))
    lane.flows.setInner(5, 7, 700)
    const carry = lane.arena.allocate(100)
    lane.arena.commit(carry)
    assert.equal(lane.flows.setCarry(5, carry), 0)
    const front = recoverAfterDeath(memory, 8)
    assert.deepEqual([front.flows.ownerOf(5), front.flows.waiting(5), front.flows.waitingBytes(5)], [0, 0, 0])
    assert.deepEqual([front.flows.carry(5), front.flows.carryVersion(5)], [carry, 1])
    assertSound(memory)
  })

  test('and was marked for it alone is marked for any lane', () => {
    const memory = smallMemory()
    const lane = new Station(memory, 8)
    lane.ready.mark(setOf(8), 5)
    const front = recoverAfterDeath(memory, 8)
    assert.equal(front.ready.take(setOf(8), 0), -1)
    assert.equal(front.ready.take(SHARED_SET, 0), 5)
  })

  test('waits while a publisher stands inside the flow, and is told again once it is free', () => {
    const memory = smallMemory()
    const lane = new Station(memory, 8)
    const timer = new Station(memory, 4)
    assert.ok(lane.flows.claim(5, lane.owner))
    timer.publisher.publish(route(1, 5), float(1), 100)
    assert.ok(timer.flows.lockPublish(5, timer.owner))
    const front = new Station(memory, 1)
    const dead = new ThreadTable(memory).markDead(8)
    assert.equal(recoverThread(dead, front).done, false)
    timer.flows.unlockPublish(5, timer.owner)
    assert.deepEqual(recoverThread(dead, front), { done: true, flows: [5], finished: -1 })
    assertSound(memory)
    assert.equal(front.ready.take(SHARED_SET, 0), 5)
  })
})

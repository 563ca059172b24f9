import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SHARED_SET, setOf } from '../../../core/cascade/ready.ts'
import { smallMemory } from '../../kit/memory.ts'
import { dieAtEachStep } from './kit/deaths.ts'
import { assertSound, recoverAfterDeath } from './kit/recovered.ts'
import { Station } from './kit/station.ts'

const scenario = (name: string): URL => new URL(`./${name}.scenario.ts`, import.meta.url)

describe('a thread that dies at any step', () => {
  test('of a publish has published or has not: versions go on, every reader and the store agree', async () => {
    assert.ok((await dieAtEachStep(scenario('publish-dies'))) > 100)
  })

  test('of telling a lane leaves the owner of each flow, or any lane, told', async () => {
    assert.ok((await dieAtEachStep(scenario('mark-dies'))) > 100)
  })

  test('of its turns leaves no flow without a mark, no item lost or taken twice, no segment and no slab', async () => {
    assert.ok((await dieAtEachStep(scenario('lane-dies'))) > 400)
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
})

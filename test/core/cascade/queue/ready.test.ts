import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SHARED_SET, setOf } from '../../../../core/cascade/queue/ready.ts'
import type { Memory } from '../../../../core/memory/region.ts'
import { Sleeper } from '../../../../core/memory/wait.ts'
import { smallMemory } from '../../../kit/memory.ts'
import { Station } from '../kit/station.ts'

const FLOWS = 5000

describe('a ready set', () => {
  const set = () => new Station(smallMemory({ flows: FLOWS }), 1).ready

  test('gives each marked flow once, however often it was marked', () => {
    const ready = set()
    for (const flow of [0, 31, 32, 1023, 1024, 4999, 31]) ready.mark(SHARED_SET, flow)
    const taken: number[] = []
    for (let flow = ready.take(SHARED_SET, 0); flow >= 0; flow = ready.take(SHARED_SET, 0)) taken.push(flow)
    assert.deepEqual(taken, [0, 31, 32, 1023, 1024, 4999])
    assert.equal(ready.mayHold(SHARED_SET), false)
  })

  test('goes round: a flow that is marked again and again keeps nobody waiting', () => {
    const ready = set()
    const marked = [3, 40, 41, 2000, 4990]
    for (const flow of marked) ready.mark(SHARED_SET, flow)
    const taken: number[] = []
    for (let cursor = 0; taken.length < 15; cursor = taken.at(-1)! + 1) {
      const flow = ready.take(SHARED_SET, cursor)
      taken.push(flow)
      ready.mark(SHARED_SET, flow)
    }
    assert.deepEqual(taken, [...marked, ...marked, ...marked])
  })

  test('takes from any cursor', () => {
    const ready = set()
    for (const cursor of [0, 1, 31, 32, 33, 1023, 1024, 3000, 4999, 5000]) {
      for (const flow of [0, 33, 1055, 4999]) {
        ready.mark(SHARED_SET, flow)
        assert.equal(ready.take(SHARED_SET, cursor), flow)
        assert.equal(ready.take(SHARED_SET, cursor), -1)
      }
    }
  })

  test('of a lane is apart from the one for all', () => {
    const ready = set()
    ready.mark(setOf(9), 7)
    assert.equal(ready.take(SHARED_SET, 0), -1)
    assert.equal(ready.take(setOf(8), 0), -1)
    assert.ok(ready.isMarked(setOf(9), 7))
    ready.unmark(setOf(9), 7)
    assert.equal(ready.take(setOf(9), 0), -1)
  })
})

describe('a marked flow', () => {
  /** Lanes in these slots; those named sleep. */
  function lanes(memory: Memory, slots: number[], asleep: number[]) {
    const stations = slots.map(slot => new Station(memory, slot))
    for (const { ready, slot } of stations) ready.enterLane(slot)
    const sleepers = new Map(asleep.map(slot => [slot, new Sleeper(memory, slot)]))
    const tickets = new Map([...sleepers].map(([slot, sleeper]) => [slot, sleeper.announce()]))
    /** Slots of the lanes that were woken since. */
    const woken = (): number[] =>
      [...sleepers].filter(([slot, sleeper]) => sleeper.announce() !== tickets.get(slot)).map(([slot]) => slot)
    return { stations, woken }
  }

  test('wakes the lane that had it last, if it sleeps', () => {
    const memory = smallMemory()
    const { stations, woken } = lanes(memory, [8, 9, 10], [8, 9, 10])
    stations[1]!.flows.claim(5, stations[1]!.owner)
    stations[1]!.flows.release(5, stations[1]!.owner)
    new Station(memory, 4).ready.markReady(5)
    assert.deepEqual(woken(), [9])
  })

  test('wakes one other lane that sleeps when that one does not', () => {
    const memory = smallMemory()
    const { stations, woken } = lanes(memory, [8, 9, 10], [9, 10])
    stations[0]!.flows.claim(5, stations[0]!.owner)
    stations[0]!.flows.release(5, stations[0]!.owner)
    new Station(memory, 4).ready.markReady(5)
    assert.equal(woken().length, 1)
  })

  test('wakes its owner and nobody else while it is owned', () => {
    const memory = smallMemory()
    const { stations, woken } = lanes(memory, [8, 9], [8, 9])
    stations[1]!.flows.claim(5, stations[1]!.owner)
    const timer = new Station(memory, 4)
    timer.ready.markReady(5)
    assert.deepEqual(woken(), [9])
    assert.equal(timer.ready.take(SHARED_SET, 0), -1)
    assert.equal(timer.ready.take(setOf(9), 0), 5)
  })

  test('wakes nobody who has left; a change of plans wakes everybody else', () => {
    const memory = smallMemory()
    const { stations, woken } = lanes(memory, [8, 9, 10], [8, 9, 10])
    stations[0]!.ready.leaveLane(8)
    stations[0]!.ready.wakeAll()
    assert.deepEqual(woken(), [9, 10])
  })
})

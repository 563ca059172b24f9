import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BegunCascades } from '../../../core/memory/begun.ts'
import { begunBy, clearBegun } from '../../../core/memory/recover/begun.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { SLOT } from '../../../core/memory/threads.ts'
import { smallMemory } from '../../kit/memory.ts'
import { FLOW, Lane } from './begun-killed.scenario.ts'

const found = (memory: Memory) => begunBy(memory, SLOT.lane).map(one => `${one.seq} ran ${one.executions}`)

function lane(begun_rows = 8) {
  const memory = smallMemory({ begun_rows })
  return { memory, lane: new Lane(memory) }
}

test('a cascade that has begun stands in its row with all that its record needs', () => {
  const { memory, lane: here } = lane()
  const parent = here.begin()
  here.run(parent, 2)
  here.stands(parent)
  const child = here.begin(parent)
  here.run(child, 1)
  const times = (seq: number) => ({ seq, started_us: 1000 + seq, message: 10 + seq, root_version: 100 + seq })
  assert.deepEqual(begunBy(memory, SLOT.lane), [
    { flow: FLOW, ...times(1), parent_seq: 0, parent_ts: 0, executions: 2, errors: 0 },
    { flow: FLOW, ...times(2), parent_seq: 1, parent_ts: 1001, executions: 1, errors: 0 },
  ])
})

test('one that ends leaves its row, in whatever order they end', () => {
  const { memory, lane: here } = lane()
  const first = here.begin()
  here.stands(first)
  const second = here.begin()
  here.stands(second)
  const present = here.begin()
  here.end(first)
  here.endTurn()
  assert.deepEqual(found(memory), ['2 ran 0', '3 ran 0'])
  here.end(present)
  here.end(second)
  here.endTurn()
  assert.deepEqual(found(memory), [])
})

test('a child of one cascade leaves no parent behind in the row of the next', () => {
  const { memory, lane: here } = lane()
  here.end(here.begin(here.begin()))
  here.begin()
  assert.deepEqual([begunBy(memory, SLOT.lane)[0]!.parent_seq, begunBy(memory, SLOT.lane)[0]!.parent_ts], [0, 0])
})

test('errors are told of the cascade that had them, wherever it stands', () => {
  const { memory, lane: here } = lane()
  const errors = () => begunBy(memory, SLOT.lane).map(one => one.errors)
  const failing = { ...here.begin(), errors: 1 }
  here.begun.failed(failing)
  assert.deepEqual(errors(), [1])
  here.stands(failing)
  failing.errors = 2
  here.begun.failed(failing)
  const well = here.begin()
  assert.deepEqual(errors(), [2, 0])
  const ill = Object.assign(well, { errors: 1 })
  here.begun.failed(ill)
  here.end(ill)
  here.begin()
  assert.deepEqual(errors(), [2, 0])
})

test('when every row is taken a cascade is in flight without one, and the rows of others stay theirs', () => {
  const { memory, lane: here } = lane(3)
  const cascades = [1, 2, 3].map(() => {
    const cascade = here.begin()
    here.stands(cascade)
    return cascade
  })
  assert.deepEqual(
    cascades.map(cascade => cascade.row > 0),
    [true, true, false],
  )
  assert.deepEqual(found(memory), ['1 ran 0', '2 ran 0'])
  here.run(cascades[2]!, 1)
  here.stands(cascades[2]!)
  here.end(cascades[2]!)
  here.endTurn()
  assert.deepEqual(found(memory), ['1 ran 0', '2 ran 0'])
  here.end(cascades[0]!)
  here.endTurn()
  const next = here.begin()
  here.stands(next)
  assert.deepEqual(found(memory), ['2 ran 0', '4 ran 0'])
})

test('the next thread in the slot counts on and finds every row free; other slots have rows of their own', () => {
  const { memory, lane: here } = lane(3)
  for (let i = 0; i < 3; i++) here.stands(here.begin())
  here.begin()
  assert.equal(new BegunCascades(memory, SLOT.lane + 1).last, 0)
  assert.deepEqual(begunBy(memory, SLOT.lane + 1), [])
  clearBegun(memory, SLOT.lane)
  assert.deepEqual(found(memory), [])
  const next = new Lane(memory)
  assert.equal(next.begun.last, 4)
  for (let i = 0; i < 2; i++) next.stands(next.begin())
  assert.deepEqual(found(memory), ['5 ran 0', '6 ran 0'])
})

test('only slots of lanes have rows', () => {
  const memory = smallMemory()
  for (const slot of [SLOT.front, SLOT.lane + 4]) assert.throws(() => new BegunCascades(memory, slot), RangeError)
})

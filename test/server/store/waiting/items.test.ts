import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GROUP } from '../../../../core/cascade/queue/item.ts'
import { asEarlier, EARLIER } from '../../../../server/store/cascades/earlier.ts'
import { decodeWaiting, WaitingEncoder } from '../../../../server/store/waiting/blob.ts'
import { type WaitingItem, WaitingItems } from '../../../../server/store/waiting/items.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { waitingItems } from '../../../kit/waiting-items.ts'

const NO_PARENT = { depth: 0, group: 0, parent_seq: 0, parent_ts: 0 }

/** None, one of this engine, one of an earlier one, or the first run of a rerun. */
function parentOf(random: () => number): Pick<WaitingItem, 'parent_seq' | 'parent_ts'> {
  if (random() < 0.5) return { parent_seq: 0, parent_ts: 0 }
  const parent_ts = [1.7e15 + Math.floor(random() * 1e9), EARLIER + 3, 3][Math.floor(random() * 3)]!
  return { parent_seq: 8 * 2 ** 40 + Math.floor(random() * 1e6), parent_ts }
}

const versions = (items: WaitingItems): number[] => [...items].map(item => item.version)

/** Items `from` to `to` with the version ten times their number. */
function queued(items: WaitingItems, from: number, to: number): void {
  for (let item = from; item <= to; item++) items.queued(item, 1, item * 10, 0, 0)
}

describe('items that wait', () => {
  test('go in their order, however the rings bring them, and a record that comes twice counts once', () => {
    const items = new WaitingItems()
    for (const item of [3, 0, 2, 1, 2]) items.queued(item, 1, item * 10, 0, 0)
    assert.deepEqual([versions(items), items.count], [[0, 10, 20, 30], 4])
  })

  test('are gone up to what is taken, also when the record of one comes after that', () => {
    const items = new WaitingItems()
    queued(items, 0, 4)
    items.taken(3)
    assert.deepEqual([versions(items), items.count], [[30, 40], 2])
    items.queued(1, 1, 10, 0, 0)
    items.taken(2)
    assert.deepEqual(versions(items), [30, 40])
    items.taken(9)
    items.queued(8, 1, 80, 0, 0)
    items.queued(9, 1, 90, 0, 0)
    assert.deepEqual([versions(items), items.count], [[90], 1])
  })

  test('leave holes for records that are not marked yet', () => {
    const items = new WaitingItems()
    items.queued(5, 1, 50, 0, 0)
    assert.deepEqual(versions(items), [50])
    items.queued(2, 1, 20, 0, 0)
    assert.deepEqual(versions(items), [20, 50])
  })

  test('of a cascade that has run nothing stay, before all others, until it runs or ends', () => {
    const items = new WaitingItems()
    queued(items, 0, 4)
    items.fresh(2, 1)
    items.fresh(0, 2)
    items.fresh(0, 2)
    items.taken(4)
    assert.deepEqual([versions(items), items.count, items.hasFresh], [[0, 10, 20, 40], 4, true])
    items.begun(1, 10)
    assert.equal(items.count, 4, 'its root is the first of its items')
    items.begun(1, 0)
    assert.deepEqual(versions(items), [20, 40])
    items.begun(1, 20)
    assert.deepEqual([versions(items), items.hasFresh], [[40], false])
  })

  test('are counted on when their numbers wrap', () => {
    const items = new WaitingItems()
    const last = 2 ** 31 - 1
    items.taken(last - 1)
    items.queued(last, 1, 1, 0, 0)
    items.queued((last + 1) | 0, 1, 2, 0, 0)
    items.queued((last + 2) | 0, 1, 3, 0, 0)
    items.fresh(last, 2)
    items.taken((last + 2) | 0)
    assert.deepEqual([versions(items), items.count], [[1, 2, 3], 3])
  })

  test(`are those that a list would hold, in any mix of records (seed ${seed})`, () => {
    const random = randomFrom(seed)
    for (let round = 0; round < 200; round++) {
      const items = new WaitingItems()
      const model = new Map<number, number>()
      const late: number[] = []
      let appended = 0
      let taken = 0
      for (let step = 0; step < 100; step++) {
        const choice = random()
        if (choice < 0.5) {
          const burst = random() < 0.05 ? 3000 : 1
          for (let left = burst; left > 0; left--) late.push(appended++)
        } else if (choice < 0.8) {
          for (const item of late.splice(0).sort(() => random() - 0.5)) {
            items.queued(item, 1, item + 1, 0, 0)
            if (item >= taken) model.set(item, item + 1)
          }
        } else {
          taken = Math.min(appended, taken + Math.floor(random() * 8 ** (random() * 4)))
          items.taken(taken)
          for (const item of [...model.keys()]) if (item < taken) model.delete(item)
        }
      }
      const expected = [...model].sort(([a], [b]) => a - b).map(([, version]) => version)
      assert.deepEqual([versions(items), items.count], [expected, expected.length])
    }
  })
})

describe('items as a blob', () => {
  const encoded = (items: readonly WaitingItem[]): Buffer =>
    Buffer.from(new WaitingEncoder().encode(waitingItems(items), row => row + 7, 9))

  test(`are read as they were written, and a backlog of one message is a few bytes (seed ${seed})`, () => {
    const random = randomFrom(seed)
    const below = (end: number): number => Math.floor(random() * end)
    for (let round = 0; round < 100; round++) {
      let version = 1 + below(2 ** 40)
      const items = Array.from({ length: below(2000) }, (): WaitingItem => {
        version += random() < 0.8 ? 1 : below(1000)
        const group = random() < 0.9 ? 0 : below(8)
        return {
          message: random() < 0.9 ? 1 : below(50),
          version,
          depth: random() < 0.9 ? 0 : below(100),
          group,
          ...parentOf(random),
        }
      })
      assert.deepEqual(
        decodeWaiting(encoded(items), 2000),
        items.map(item => ({ ...item, message: item.message + 7, parent_ts: asEarlier(item.parent_ts, 9) })),
      )
    }
    const backlog = Array.from({ length: 10_000 }, (_, at) => ({ message: 1, version: 5000 + at, ...NO_PARENT }))
    assert.ok(encoded(backlog).length < 16)
  })

  test('that are damaged, of another format or too many are refused', () => {
    const bytes = encoded([{ message: 1, version: 1000, ...NO_PARENT, group: GROUP.joins }])
    for (let end = 2; end < bytes.length; end++) {
      assert.throws(() => decodeWaiting(bytes.subarray(0, end), 10), RangeError, `${end} bytes of ${bytes.length}`)
    }
    assert.throws(() => decodeWaiting(Buffer.from([9]), 10), /format 9/)
    const many = encoded(Array.from({ length: 11 }, (_, at) => ({ message: 1, version: at + 1, ...NO_PARENT })))
    assert.throws(() => decodeWaiting(many, 10), /more than 10/)
  })
})

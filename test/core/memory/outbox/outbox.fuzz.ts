/** Random pushes, reads, acknowledgements, lost connections and trims against a list; the reader is replaced at random, as after a death. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newOutbox, OutboxReader, OutboxWriter } from '../../../../core/memory/outbox.ts'
import { randomFrom, seed } from '../../../kit/random.ts'

const STEPS = process.env['LONG'] === undefined ? 50_000 : 5_000_000

test('an outbox holds what was pushed and not sent, in order, whole', () => {
  console.log(`SEED=${seed}`)
  const random = randomFrom(seed)
  const below = (most: number): number => Math.floor(random() * most)
  const sab = newOutbox(4096)
  const writer = new OutboxWriter(sab)
  let reader = new OutboxReader(sab)
  const waiting: string[] = []
  /** Ends of those that were read and not sent; their texts are the first of `waiting`. */
  let ends: number[] = []
  let pushes = 0
  for (let step = 0; step < STEPS; step++) {
    switch (below(12)) {
      case 0:
        reader.again()
        ends = []
        break
      case 1:
        reader = new OutboxReader(sab)
        ends = []
        break
      case 2: {
        if (below(20) > 0) break
        const count = reader.trim(below(4096))
        waiting.splice(0, count)
        ends = []
        break
      }
      case 3:
      case 4:
      case 5: {
        const count = below(ends.length + 1)
        if (count === 0) break
        reader.sent(ends[count - 1]!)
        ends = ends.slice(count)
        waiting.splice(0, count)
        break
      }
      case 6:
      case 7:
      case 8: {
        const record = reader.next()
        const expected = waiting[ends.length]
        assert.equal(record === null ? undefined : `${record.topic} ${record.flags} ${record.payload}`, expected)
        if (record !== null) ends.push(record.end)
        break
      }
      default: {
        const topic = `t/${'ä'.repeat(below(5))}${step}`
        const payload = '€'.repeat(below(below(10) === 0 ? 600 : 20))
        const flags = below(8)
        if (writer.push(topic, payload, flags) === 'pushed') {
          waiting.push(`${topic} ${flags} ${payload}`)
          pushes++
        } else assert.ok(waiting.length > 0, 'an empty outbox refuses nothing that fits')
      }
    }
    assert.equal(reader.isEmpty, waiting.length === 0)
  }
  assert.ok(pushes > STEPS / 20)
})

test('what can never fit is known', () => {
  const writer = new OutboxWriter(newOutbox(4096))
  assert.ok(writer.fits('t', 'x'.repeat(2000)))
  assert.ok(!writer.fits('t', 'x'.repeat(2048)))
})

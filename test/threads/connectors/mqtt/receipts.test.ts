import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PacketStream } from '../../../../threads/connectors/mqtt/packet-stream.ts'
import { KIND } from '../../../../threads/connectors/mqtt/packets.ts'
import { Receipts } from '../../../../threads/connectors/mqtt/receipts.ts'

const NAMES = new Map<number, string>(Object.entries(KIND).map(([name, kind]) => [kind, name]))

/** A connection that writes down what is acknowledged. */
function connection() {
  const said: string[] = []
  const acknowledge: PacketStream['acknowledge'] = (kind, id) => void said.push(`${NAMES.get(kind)} ${id}`)
  return { stream: { acknowledge } as PacketStream, said }
}

test('messages are acknowledged in the order in which they came, each when everybody has it', () => {
  const { stream, said } = connection()
  const receipts = new Receipts(() => {})
  receipts.begin(stream, false)
  const [one, two, three] = [receipts.take(1, 1)!, receipts.take(2, 2)!, receipts.take(3, 1)!]
  one.hold()
  one.hold()
  for (const receipt of [one, two, three]) receipt.settle()
  assert.deepEqual(said, [])
  one.settle()
  assert.deepEqual(said, [])
  one.settle()
  assert.deepEqual(said, ['puback 1', 'pubrec 2', 'puback 3'])
  receipts.released(2)
  assert.deepEqual(said.slice(3), ['pubcomp 2'])
  assert.equal(receipts.isWaiting, false)
})

test('a message of QoS 2 that comes again in its session is the same, until it is released', () => {
  const before = connection()
  const after = connection()
  const receipts = new Receipts(() => {})
  receipts.begin(before.stream, false)
  const [done, held] = [receipts.take(1, 2)!, receipts.take(2, 2)!]
  done.settle()
  assert.deepEqual(before.said, ['pubrec 1'])
  receipts.begin(after.stream, true)
  assert.equal(receipts.take(1, 2), null)
  assert.equal(receipts.take(2, 2), null)
  assert.deepEqual(after.said, ['pubrec 1'])
  held.settle()
  assert.deepEqual(after.said, ['pubrec 1', 'pubrec 2'])
  receipts.released(1)
  assert.notEqual(receipts.take(1, 2), null, 'the id is free')
})

test('a connection without the session of the last one owes nothing of it', () => {
  const before = connection()
  const after = connection()
  const receipts = new Receipts(() => {})
  receipts.begin(before.stream, false)
  const held = receipts.take(7, 2)!
  receipts.begin(after.stream, false)
  const other = receipts.take(7, 2)!
  held.settle()
  assert.deepEqual([before.said, after.said], [[], []])
  other.settle()
  assert.deepEqual(after.said, ['pubrec 7'])
})

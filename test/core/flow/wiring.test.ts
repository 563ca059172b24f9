import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type FlowFacts, factsOf } from '../../../core/flow/facts.ts'
import { Wiring } from '../../../core/flow/wiring.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import { checked, code } from '../../kit/flow-documents.ts'

/** A flow that declares `x` (and what is given) and reads the messages named; `!` reads without trigger. */
const flow = (
  name: string,
  reads: string,
  options: { makes?: string; enabled?: boolean; dtype?: Dtype } = {},
): FlowFacts =>
  factsOf(
    name,
    checked({ nodes: [code('n', reads, options.makes ?? 'x', options.dtype)] }, name),
    options.enabled ?? true,
  )

const wired = (...flows: FlowFacts[]): Wiring => {
  const wiring = new Wiring()
  for (const facts of flows) wiring.set(facts)
  return wiring
}

describe('who reads what', () => {
  test('only ports with a trigger are readers; every port is a reference', () => {
    const wiring = wired(flow('a', ''), flow('b', 'a.x'), flow('c', '!a.x'))
    assert.deepEqual([...wiring.readersOf('a.x')], ['b'])
    assert.deepEqual(wiring.referencing('a'), ['b', 'c'])
    assert.deepEqual([...wiring.readersOf('a.y')], [])
  })

  test('a reader of a flow that does not exist yet is known when it appears', () => {
    const wiring = wired(flow('b', 'a.x'))
    assert.deepEqual(wiring.reachable('a'), [])
    assert.deepEqual(wiring.set(flow('a', '')), ['b'])
    assert.deepEqual(wiring.reachable('a'), ['b'])
  })

  test('a disabled flow is woken by nothing and still declares its messages', () => {
    const wiring = wired(flow('a', ''), flow('b', 'a.x'))
    assert.deepEqual(wiring.set(flow('b', 'a.x', { enabled: false })), ['a'])
    assert.deepEqual([...wiring.readersOf('a.x')], [])
    assert.deepEqual(wiring.reachable('a'), [])
    assert.deepEqual(wiring.referencing('a'), ['b'])
    assert.equal(wiring.flow('b')?.messages.get('x')?.dtype, 'float')
  })

  test('a removed flow leaves nothing behind', () => {
    const wiring = wired(flow('a', ''), flow('b', 'a.x'), flow('c', 'b.x'))
    assert.deepEqual(wiring.remove('b').sort(), ['a', 'c'])
    assert.deepEqual(wiring.reachable('a'), [])
    assert.deepEqual([...wiring.readersOf('a.x')], [])
    assert.deepEqual(wiring.referencing('a'), [])
    assert.equal(wiring.flow('b'), null)
    assert.deepEqual(wiring.set(flow('b', 'a.x')).sort(), ['a', 'c'])
    assert.deepEqual([...wiring.reachable('a')].sort(), ['b', 'c'])
  })
})

describe('whose plans are out of date after a save', () => {
  test('nobody, when nothing about the wiring changed', () => {
    const wiring = wired(flow('a', ''), flow('b', 'a.x'), flow('c', 'b.x'))
    for (const facts of [flow('a', ''), flow('b', 'a.x'), flow('c', 'b.x')]) assert.deepEqual(wiring.set(facts), [])
  })

  test('all that can reach a new reader', () => {
    const wiring = wired(flow('a', ''), flow('b', 'a.x'), flow('c', 'b.x'), flow('other', ''))
    assert.deepEqual(wiring.set(flow('d', 'c.x')).sort(), ['a', 'b', 'c'])
    assert.deepEqual(wiring.reachable('a'), ['b', 'c', 'd'])
  })

  test('a reader whose message changed its dtype', () => {
    const wiring = wired(flow('a', ''), flow('b', '!a.x'))
    assert.deepEqual(wiring.set(flow('a', '', { dtype: 'json' })), ['b'])
  })

  test('a source that gains a second reader of the same flow', () => {
    const wiring = wired(flow('a', '', { makes: 'x y' }), flow('b', 'a.x'))
    assert.deepEqual(wiring.set(flow('b', 'a.x a.y')), ['a'])
    assert.deepEqual([...wiring.readersOf('a.y')], ['b'])
  })

  test('a message that its flow no longer declares wakes nobody', () => {
    const wiring = wired(flow('a', ''), flow('b', 'a.x'))
    assert.deepEqual(wiring.set(flow('a', '', { makes: 'y' })), ['b'])
    assert.deepEqual(wiring.reachable('a'), [])
  })
})

describe('cycles through several flows', () => {
  test('two flows that read each other', () => {
    const wiring = wired(flow('a', 'b.x'), flow('b', 'a.x'))
    assert.deepEqual(wiring.cyclesThrough('a'), [['a', 'b']])
    assert.deepEqual(wiring.cyclesThrough('b'), [['b', 'a']])
    assert.deepEqual(wiring.reachable('a'), ['b'])
  })

  test('the shortest way back for each flow that is woken', () => {
    const wiring = wired(flow('a', 'c.x'), flow('b', 'a.x'), flow('c', 'b.x a.x'), flow('d', 'a.x'))
    assert.deepEqual(wiring.cyclesThrough('a'), [
      ['a', 'b', 'c'],
      ['a', 'c'],
    ])
    assert.deepEqual(wiring.cyclesThrough('d'), [])
  })

  test('a flow that reads itself is no cycle through several', () => {
    assert.deepEqual(wired(flow('a', 'a.x')).cyclesThrough('a'), [])
  })
})

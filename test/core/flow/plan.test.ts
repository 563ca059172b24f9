import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { isUpstream, type Plan } from '../../../core/flow/plan.ts'
import type { FlowNode } from '../../../protocol/nouns/flow-document.ts'
import { arbitraryDocument, BODY, checked, code, createIndexer, planOf } from '../../kit/flow-documents.ts'
import { seed } from '../../kit/random.ts'

const order = (plan: Plan): string => plan.nodes.map(node => node.id).join(' ')
const node = (plan: Plan, id: string) => plan.nodes.find(candidate => candidate.id === id)!
const ids = (plan: Plan, positions: readonly number[]): string =>
  positions.map(position => plan.nodes[position]!.id).join(' ')
/** `a.m -> b c` and, where a reader is reached by a back edge, `a.m -> b | c`. */
const edges = (plan: Plan): string[] =>
  plan.nodes.flatMap(({ id, outputs }) =>
    outputs.map(port =>
      [`${id}.${port.port} -> ${ids(plan, port.forward)}`, ...(port.back.length ? [ids(plan, port.back)] : [])].join(
        ' | ',
      ),
    ),
  )
const upstream = (plan: Plan, id: string): string =>
  ids(
    plan,
    plan.nodes.map(({ position }) => position).filter(position => isUpstream(node(plan, id).upstream, position)),
  )

describe('wave order', () => {
  test('a node comes after all that it reads, whatever the document says', () => {
    const plan = planOf([code('last', 'b', 'c'), code('middle', 'a', 'b'), code('first', 'given', 'a')])
    assert.equal(order(plan), 'first middle last')
  })

  test('nodes that do not depend on each other keep the order of the document', () => {
    const plan = planOf([
      code('z', 'given', 'a'),
      code('y', 'given', 'b'),
      code('join', 'a b', 'c'),
      code('x', 'given', 'd'),
    ])
    assert.equal(order(plan), 'z y join x')
  })

  test('both ends of a diamond are upstream of its join', () => {
    const plan = planOf([
      code('source', 'given', 's'),
      code('left', 's', 'l'),
      code('right', 's', 'r'),
      code('join', 'l r', 'j'),
    ])
    assert.deepEqual(edges(plan), ['source.s -> left right', 'left.l -> join', 'right.r -> join', 'join.j -> '])
    assert.equal(upstream(plan, 'join'), 'source left right')
    assert.equal(upstream(plan, 'source'), '')
  })

  test('a node that reads without being woken still waits for what it reads', () => {
    const plan = planOf([code('reader', 'fast !slow', 'y'), code('a', 'given', 'fast'), code('b', 'given', 'slow')])
    assert.equal(order(plan), 'a b reader')
    assert.equal(upstream(plan, 'reader'), 'a b')
    assert.deepEqual(edges(plan), ['a.fast -> reader', 'b.slow -> ', 'reader.y -> '])
  })

  test('a read without trigger that closes a loop means the previous value and orders nothing', () => {
    const plan = planOf([code('a', 'given !previous', 'x'), code('b', 'x', 'previous')])
    assert.equal(order(plan), 'a b')
    assert.equal(upstream(plan, 'a'), '')
  })

  test('two ports on one message make one edge', () => {
    const plan = planOf([code('a', 'given', 'x'), code('b', 'x x', 'y')])
    assert.deepEqual(edges(plan), ['a.x -> b', 'b.y -> '])
    assert.deepEqual(plan.messages.find(({ name }) => name === 'f.x')?.readers, [1])
  })
})

describe('back edges', () => {
  test('a node that reads what it produces', () => {
    const plan = planOf([code('a', 'x given', 'x')])
    assert.deepEqual(edges(plan), ['a.x ->  | a'])
    assert.equal(upstream(plan, 'a'), '')
  })

  test('the edge that returns to the node which stands first in the document', () => {
    const [a, b] = [code('a', 'y given', 'x'), code('b', 'x', 'y')]
    assert.deepEqual(edges(planOf([a, b])), ['a.x -> b', 'b.y ->  | a'])
    assert.deepEqual(edges(planOf([b, a])), ['b.y -> a', 'a.x ->  | b'])
  })

  test('one message may go forward to one reader and back to another', () => {
    const plan = planOf([code('a', 'z given', 'x'), code('b', 'x', 'z'), code('c', 'z', 'w')])
    assert.deepEqual(edges(plan), ['a.x -> b', 'b.z -> c | a', 'c.w -> '])
  })
})

describe('what a plan says of messages', () => {
  test('its own by producer or input, foreign ones by name, each once', () => {
    const indexer = createIndexer()
    const plan = planOf([code('a', 'given other.x', 'y'), code('b', '!y other.x', 'z')], { indexer })
    const told = plan.messages.map(({ name, own, producer, readers, queued }) => [name, own, producer, readers, queued])
    assert.deepEqual(told, [
      ['f.y', true, 0, [], true],
      ['f.z', true, 1, [], false],
      ['f.given', true, -1, [0], true],
      ['other.x', false, -1, [0, 1], true],
    ])
    for (const message of plan.messages) assert.equal(message.index, indexer.message(message.name))
    for (const [at, message] of plan.messages.entries()) assert.equal(plan.by_message.get(message.index), at)
  })

  test('which other flows a publish wakes, and which it can reach', () => {
    const indexer = createIndexer()
    for (const name of ['far', 'near', 'f']) indexer.flow(name)
    const wiring = {
      readersOf: (message: string) => (message === 'f.y' ? ['near'] : []),
      reachable: () => ['near', 'far'],
    }
    const plan = planOf([code('a', 'other.x', 'y')], { wiring, indexer })
    const [y, x] = plan.messages
    assert.deepEqual(y?.foreign, [indexer.flow('near')])
    assert.deepEqual(y?.downstream, [0, 1, 2])
    assert.deepEqual([x?.foreign, x?.downstream], [[], []], 'the flow never publishes what is not its own')
  })

  test('the dtype of the producer, also where the reader stands first', () => {
    const reader = code('reader', 'x', '', 'json')
    const plan = planOf([reader, code('a', 'given', 'x', 'int')])
    assert.equal(plan.messages.find(({ name }) => name === 'f.x')?.dtype, 'int')
    assert.equal(node(plan, 'reader').inputs[0]?.dtype, 'json')
  })
})

test('a node that declares resources, a timeout, a device or isolation is dispatched, others run on the lane', () => {
  const plain = code('a', 'given', '')
  const dispatched = (change: Partial<FlowNode>): boolean => planOf([{ ...plain, ...change }]).nodes[0]!.dispatch
  assert.equal(dispatched({ duration_s: 5, cache: false, position: { x: 1, y: 1 } }), false)
  for (const change of [
    { timeout: 5 },
    { device: 'bench' },
    { isolation: 'process' as const },
    { resources: { cpus: 1 } },
    { resources: { gpus: 0 } },
    { resources: { ram: '2G' } },
    { resources: { flavor: 'small' } },
  ])
    assert.equal(dispatched(change), true, JSON.stringify(change))
})

test('a plan is plain data and crosses threads whole', () => {
  const plan = planOf([code('a', 'given', 'x'), code('b', 'x', 'y')])
  assert.deepEqual(structuredClone(plan), plan)
})

test(`forward edges lead onwards, and upstream is all that reaches a node over them (seed ${seed})`, () => {
  fc.assert(
    fc.property(arbitraryDocument, raw => {
      const plan = planOf(checked(raw).nodes)
      const reaches = bruteForce(plan)
      for (const { position, outputs, inputs, upstream: bits } of plan.nodes) {
        for (const { forward, back, message } of outputs) {
          for (const to of forward) assert.ok(to > position, `forward ${position} -> ${to}`)
          const woken = plan.messages[message]!.readers
          assert.deepEqual(
            [...forward, ...back].sort((a, b) => a - b),
            woken,
          )
        }
        for (const port of inputs)
          assert.equal(
            plan.messages[port.message]!.readers.includes(position),
            port.trigger || bothWays(plan, position, port.message),
          )
        for (const { position: other } of plan.nodes) {
          const may = isUpstream(bits, other)
          if (reaches[other]!.has(position)) assert.ok(may, `${other} reaches ${position}`)
          if (may) assert.ok(other < position, `upstream ${other} of ${position}`)
        }
      }
      for (const { readers } of plan.messages)
        assert.deepEqual(
          readers,
          [...new Set(readers)].sort((a, b) => a - b),
        )
    }),
    { seed, numRuns: 200 },
  )
})

test(`without reads that do not wake, upstream is exactly what reaches a node (seed ${seed})`, () => {
  fc.assert(
    fc.property(arbitraryDocument, raw => {
      const document = checked(raw)
      for (const { ports } of document.nodes) for (const port of ports.inputs) port.trigger = true
      const plan = planOf(document.nodes)
      const reaches = bruteForce(plan)
      for (const { position, upstream: bits } of plan.nodes)
        for (const { position: other } of plan.nodes)
          assert.equal(isUpstream(bits, other), reaches[other]!.has(position), `${other} -> ${position}`)
    }),
    { seed, numRuns: 200 },
  )
})

test(`every loop of triggers holds a back edge, and every back edge closes a loop (seed ${seed})`, () => {
  fc.assert(
    fc.property(arbitraryDocument, raw => {
      const plan = planOf(checked(raw).nodes)
      const reaches = bruteForce(plan)
      for (const { position, outputs } of plan.nodes)
        for (const to of outputs.flatMap(({ back }) => back))
          assert.ok(to === position || reaches[to]!.has(position), `${position} -> ${to} returns`)
    }),
    { seed, numRuns: 200 },
  )
})

test('2,000 nodes in one chain, in one loop and all reading one message are planned', () => {
  const chain = Array.from({ length: 2_000 }, (_, index) =>
    code(`n${index}`, index === 0 ? 'given' : `m${index - 1}`, `m${index}`),
  )
  const reversed = planOf(chain.toReversed())
  assert.equal(order(reversed), chain.map(({ id }) => id).join(' '))
  assert.ok(isUpstream(reversed.nodes[1_999]!.upstream, 0))
  const loop = planOf([code('n0', 'm1999', 'm0'), ...chain.slice(1)])
  assert.deepEqual(loop.nodes[1_999]!.outputs[0]!.back, [0])
  const fan = planOf([
    code('source', 'given', 'x'),
    ...Array.from({ length: 1_999 }, (_, index) => code(`r${index}`, 'x', '')),
  ])
  assert.equal(fan.nodes[0]!.outputs[0]!.forward.length, 1_999)
})

test('a changed body, setting or port makes another change key; a position, an expected duration or the cache do not', () => {
  const before: FlowNode = { ...code('a', 'given', 'x'), settings: { a: 1, b: { c: [1] } }, resources: { ram: 2048 } }
  const key = (change: Partial<FlowNode>): string => planOf([{ ...before, ...change }]).nodes[0]!.change_key
  for (const change of [
    { position: { x: 9, y: 9 } },
    { duration_s: 5 },
    { cache: false },
    { settings: { b: { c: [1] }, a: 1 } },
    { resources: { ram: '2G', env: {} } },
  ])
    assert.equal(key(change), key({}), JSON.stringify(change))
  for (const change of [
    { source: `${BODY} ` },
    { language: 'js' as const },
    { settings: { a: 1, b: { c: [2] } } },
    { ports: { inputs: [{ name: 'in0', dtype: 'float' as const, message: 'other' }] } },
    { timeout: 1 },
    { resources: { ram: 1024 } },
    { device: 'x' },
    { isolation: 'process' as const },
  ])
    assert.notEqual(key(change), key({}), JSON.stringify(change))
})

/** Per position the positions that it reaches over forward edges, the slow way. */
function bruteForce(plan: Plan): Set<number>[] {
  return plan.nodes.map(({ position }) => {
    const found = new Set<number>()
    const visit = (from: number): void => {
      for (const { forward } of plan.nodes[from]!.outputs)
        for (const to of forward)
          if (!found.has(to)) {
            found.add(to)
            visit(to)
          }
    }
    visit(position)
    return found
  })
}

/** Does another port of the node trigger on the message that this one only reads? */
const bothWays = (plan: Plan, position: number, message: number): boolean =>
  plan.nodes[position]!.inputs.some(port => port.message === message && port.trigger)

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeDetail } from '../../protocol/nouns/node.ts'
import { readExposition } from '../kit/exposition.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '2' })
const SLEEP = `const word = new Int32Array(new SharedArrayBuffer(4))
const sleep = ms => Atomics.wait(word, 0, 0, ms)
`
const LATENCIES = ['wait', 'execution', 'total'] as const

const counts = ({ since_start }: Pick<NodeDetail, 'since_start'>): number[] =>
  LATENCIES.map(which => since_start[which]?.count ?? 0)

/** The latencies of so many executions: a lane counts them at the end of its turn. */
const counted = (node: string, times: number): Promise<void> =>
  eventually(
    () => counts(live.engine.nodes.get(node)).every(count => count >= times),
    `latencies of ${times} executions of ${node}`,
  )

test('a node tells its queue wait, its execution and the time since the root publish', async () => {
  const story = new Story(live.engine)
  await story.save(
    'chain',
    flow(
      [
        code('first', `${SLEEP}export default ({ x }) => { sleep(10); return { y: x } }`, [input('x')], [output('y')]),
        code('second', `${SLEEP}export default ({ y }) => { sleep(5); return { z: y } }`, [input('y')], [output('z')]),
      ],
      { message: 'x', dtype: 'json' },
    ),
  )
  live.engine.messages.publish(Array.from({ length: 5 }, (_, value) => ({ name: 'chain.x', value })))
  await counted('chain.second', 5)
  const first = live.engine.nodes.get('chain.first')
  const second = live.engine.nodes.get('chain.second')
  assert.deepEqual(counts(first), [5, 5, 5])
  assert.deepEqual(counts(second), [5, 5, 5])
  const mean = (node: NodeDetail, which: (typeof LATENCIES)[number]): number => node.since_start[which]!.mean_s
  assert.ok(mean(first, 'execution') >= 0.0099, 'the body slept')
  // Five were published at once: the later ones waited for the earlier.
  assert.ok(mean(first, 'wait') >= 2 * mean(second, 'execution'))
  assert.ok(mean(second, 'wait') < mean(first, 'wait'), 'the second runs right after the first')
  for (const node of [first, second])
    assert.ok(mean(node, 'total') >= mean(node, 'wait') + mean(node, 'execution') - 1e-6, node.name)
  assert.ok(mean(second, 'total') >= mean(first, 'total') + mean(second, 'execution') - 1e-6)
  const [wire] = second.wires
  assert.deepEqual([wire!.from, wire!.message, wire!.port], ['chain.first.y', 'chain.y', 'y'])
  assert.deepEqual(wire!.since_start, second.since_start, 'one message alone wakes the node: its wire is the node')
  assert.equal(first.wires[0]!.from, null, 'published from outside')
})

test('a wire to a node that several messages wake has latencies of its own', async () => {
  const story = new Story(live.engine)
  await story.save(
    'joined',
    flow(
      [
        code(
          'both',
          'export default ({ a, b, c }) => ({ sum: a + b + c })',
          [input('a', 'int'), input('b', 'int'), input('c', 'int', { trigger: false })],
          [output('sum', 'int')],
        ),
      ],
      { message: 'a', dtype: 'int', default: 0 },
      { message: 'b', dtype: 'int', default: 0 },
      { message: 'c', dtype: 'int', default: 0 },
    ),
  )
  for (let i = 0; i < 3; i++) story.publish('joined.a', i)
  story.publish('joined.b', 1)
  story.publish('joined.c', 1)
  await counted('joined.both', 4)
  const { wires, ...node } = live.engine.nodes.get('joined.both')
  assert.deepEqual(counts(node), [4, 4, 4])
  assert.deepEqual(
    wires.map(({ port, trigger, since_start }) => [port, trigger, since_start && counts({ since_start })]),
    [
      ['a', true, [3, 3, 3]],
      ['b', true, [1, 1, 1]],
      ['c', false, null],
    ],
  )
})

test('a flow that reads another one counts from the publish that it all began with', async () => {
  const story = new Story(live.engine)
  await story.save(
    'upper',
    flow(
      [code('slow', `${SLEEP}export default ({ x }) => { sleep(20); return { y: x } }`, [input('x')], [output('y')])],
      {
        message: 'x',
        dtype: 'json',
      },
    ),
  )
  await story.save(
    'lower',
    flow([
      code('last', 'export default ({ y }) => ({ z: y })', [input('y', 'json', { message: 'upper.y' })], [output('z')]),
    ]),
  )
  story.publish('upper.x', 1)
  await counted('lower.last', 1)
  const { since_start, wires } = live.engine.nodes.get('lower.last')
  assert.ok(since_start.total!.mean_s >= 0.0199, 'the body of the other flow is part of it')
  assert.equal(wires[0]!.from, 'upper.slow.y')
})

test('a dispatched body waits until a call slot has begun it', async () => {
  const story = new Story(live.engine)
  await story.save(
    'away',
    flow(
      [
        code('call', `${SLEEP}export default ({ x }) => { sleep(20); return { y: x } }`, [input('x')], [output('y')], {
          timeout: 60,
        }),
      ],
      { message: 'x', dtype: 'json' },
    ),
  )
  live.engine.messages.publish([1, 2].map(value => ({ name: 'away.x', value })))
  await counted('away.call', 2)
  const { wait, execution, total } = live.engine.nodes.get('away.call').since_start
  assert.equal(wait!.count, 2)
  assert.ok(execution!.mean_s >= 0.0199)
  assert.ok(wait!.mean_s >= execution!.mean_s / 3, 'the second waited for the first')
  assert.ok(total!.mean_s >= wait!.mean_s + execution!.mean_s - 1e-6)
})

test('a rename keeps what a node and its wires have counted', async () => {
  const story = new Story(live.engine)
  const both = code(
    'both',
    'export default ({ a, b }) => ({ sum: a + b })',
    [input('a', 'int'), input('b', 'int')],
    [output('sum', 'int')],
  )
  const inputs = [
    { message: 'a', dtype: 'int', default: 0 },
    { message: 'b', dtype: 'int', default: 0 },
  ] as const
  await story.save('before', flow([both], ...inputs))
  story.publish('before.a', 1)
  await counted('before.both', 1)
  await live.engine.flows.rename('before', 'after', 'tests')
  story.publish('after.a', 2)
  await counted('after.both', 2)
  const { wires, ...node } = live.engine.nodes.get('after.both')
  assert.deepEqual(counts(node), [2, 2, 2])
  assert.deepEqual(
    wires.map(({ since_start }) => counts({ since_start: since_start! })),
    [
      [2, 2, 2],
      [0, 0, 0],
    ],
  )
})

test('the metrics are Prometheus text with a histogram of each latency of each node and wire', async () => {
  const story = new Story(live.engine)
  await story.save('shown', flow([code('pass', 'export default ({ x }) => ({ y: x })', [input('x')], [output('y')])]))
  await story.save(
    'shown',
    flow([code('pass', 'export default ({ x }) => ({ y: x })', [input('x')], [output('y')])], {
      message: 'x',
      dtype: 'json',
    }),
  )
  for (let i = 0; i < 3; i++) story.publish('shown.x', i)
  await counted('shown.pass', 3)
  const families = readExposition([...live.engine.observe.prometheus()].join(''))
  const node = { flow: 'shown', node: 'pass' }
  for (const which of LATENCIES) {
    for (const [name, labels] of [
      [`svc_node_${which}_seconds`, node],
      [`svc_wire_${which}_seconds`, { ...node, port: 'x', message: 'shown.x' }],
    ] as const) {
      const family = families.get(name)!
      assert.equal(family.type, 'histogram')
      const count = family.samples.find(
        sample => sample.name === `${name}_count` && JSON.stringify(sample.labels) === JSON.stringify(labels),
      )
      assert.equal(count?.value, 3, name)
    }
  }
})

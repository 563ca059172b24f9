import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine()

const int = (message: string) => ({ message, dtype: 'int' as const })

test('a node wakes when what it reads was published, not because something upstream ran', async () => {
  const story = new Story(live.engine)
  await story.save(
    'wakes',
    flow(
      [
        code('odd', 'export default ({ x }) => x % 2 ? { odd: x } : {}', [input('x', 'int')], [output('odd', 'int')]),
        code('read', 'export default ({ odd }) => ({ y: odd })', [input('odd', 'int')], [output('y', 'int')]),
      ],
      int('x'),
    ),
  )
  for (const x of [1, 2, 3, 4, 5]) story.publish('wakes.x', x)
  await story.executed('wakes', 'odd', 5)
  assert.deepEqual(await story.values('wakes.y', 3), [1, 3, 5])
  assert.equal(story.node('wakes', 'read').executions, 3)
})

test('an input without trigger wakes nobody and is read when the execution starts', async () => {
  const story = new Story(live.engine)
  const inputs = [input('x', 'int'), input('factor', 'int', { trigger: false })]
  await story.save(
    'optional',
    flow(
      [code('scale', 'export default ({ x, factor }) => ({ y: x * factor })', inputs, [output('y', 'int')])],
      int('x'),
      int('factor'),
    ),
  )
  story.publish('optional.factor', 10)
  story.publish('optional.x', 1)
  story.publish('optional.factor', 100)
  story.publish('optional.x', 2)
  assert.deepEqual(await story.values('optional.y', 2), [10, 200])
  assert.equal(story.node('optional', 'scale').executions, 2)
})

test('a node does not run until each of its inputs has a value; the wakes before are counted', async () => {
  const story = new Story(live.engine)
  await story.save(
    'both',
    flow(
      [
        code(
          'add',
          'export default ({ a, b }) => ({ y: a + b })',
          [input('a', 'int'), input('b', 'int')],
          [output('y', 'int')],
        ),
      ],
      int('a'),
      int('b'),
    ),
  )
  story.publish('both.a', 1)
  story.publish('both.a', 2)
  await eventually(() => story.node('both', 'add').waiting_for_input === 2, 'two wakes without a body')
  assert.equal(story.node('both', 'add').executions, 0)
  story.publish('both.b', 40)
  assert.deepEqual(await story.values('both.y', 1), [42])
  const { executions, waiting_for_input } = story.node('both', 'add')
  assert.deepEqual([executions, waiting_for_input], [1, 2])
})

test('a default is seeded once: it has a version, wakes nobody, and a later save leaves the value alone', async () => {
  const story = new Story(live.engine)
  const document = (seed: number) =>
    flow([code('read', 'export default ({ x }) => ({ y: x })', [input('x', 'int')], [output('y', 'int')])], {
      ...int('x'),
      default: seed,
    })
  await story.save('seeded', document(5))
  assert.deepEqual([story.value('seeded.x'), story.version('seeded.x')], [5, 1])
  await story.save('seeded', document(6))
  assert.deepEqual([story.value('seeded.x'), story.version('seeded.x')], [5, 1])
  assert.equal(story.publish('seeded.x', 7), 2)
  assert.deepEqual(await story.values('seeded.y', 1), [7])
})

test('any message may be published from outside, one that a node produces too', async () => {
  const story = new Story(live.engine)
  await story.save(
    'outside',
    flow(
      [
        code('first', 'export default ({ x }) => ({ middle: x })', [input('x', 'int')], [output('middle', 'int')]),
        code(
          'second',
          'export default ({ middle }) => ({ y: -middle })',
          [input('middle', 'int')],
          [output('y', 'int')],
        ),
      ],
      int('x'),
    ),
  )
  story.publish('outside.middle', 3)
  assert.deepEqual(await story.values('outside.y', 1), [-3])
  assert.equal(story.node('outside', 'first').executions, 0)
})

test('a list is checked as a whole, then each value starts a cascade of its own', async () => {
  const story = new Story(live.engine)
  await story.save(
    'list',
    flow(
      [
        code(
          'add',
          'export default ({ a, b }) => ({ y: a + b })',
          [input('a', 'int'), input('b', 'int')],
          [output('y', 'int')],
        ),
      ],
      { ...int('a'), default: 0 },
      { ...int('b'), default: 0 },
    ),
  )
  const a = { name: 'list.a', value: 1 }
  const refusals = [
    { name: 'list.b', value: 'two' },
    { name: 'list.c', value: 2 },
  ].map(wrong => story.refusal(() => live.engine.messages.publish([a, wrong])).code)
  assert.deepEqual(refusals, ['wrong_dtype', 'message_not_found'])
  assert.equal(story.version('list.a'), 1)
  live.engine.messages.publish([a, { name: 'list.b', value: 10 }, { name: 'list.a', value: 2 }])
  assert.deepEqual(await story.values('list.y', 3), [1, 11, 12])
  const cascades = await story.cascades('list')
  assert.deepEqual(cascades.map(one => [one.root, one.root_version, one.executions]).reverse(), [
    ['list.a', 2, 1],
    ['list.b', 2, 1],
    ['list.a', 3, 1],
  ])
})

test('a join runs once per wave, after each branch, however long one takes or whether it publishes at all', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'join')
  const late = `${gate.source}export default async ({ x }) => { if (x === 2) await opened(); return x === 3 ? {} : { b: x * 10 } }`
  const document = flow(
    [
      code(
        'join',
        'export default ({ a, b, c }) => ({ y: [a, b, c] })',
        [input('a', 'int'), input('b', 'int'), input('c', 'int')],
        [output('y', 'json')],
      ),
      code('a', 'export default ({ x }) => ({ a: x })', [input('x', 'int')], [output('a', 'int')]),
      code('b', late, [input('x', 'int')], [output('b', 'int')]),
      code('c', 'export default ({ a }) => ({ c: a * 100 })', [input('a', 'int')], [output('c', 'int')]),
    ],
    int('x'),
  )
  await story.save('join', document)
  for (const x of [1, 2, 3]) story.publish('join.x', x)
  // Later cascades go on up to the node that is away.
  await story.becomes('join.c', 300)
  assert.deepEqual(await story.values('join.y', 1), [[1, 10, 100]])
  gate.open()
  assert.deepEqual(await story.values('join.y', 3), [
    [1, 10, 100],
    [2, 20, 200],
    [3, 20, 300],
  ])
  assert.equal(story.node('join', 'join').executions, 3)
})

test('what a wave did not publish is read as it was before any later cascade', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'as-of')
  const held = `${gate.source}export default async ({ x }) => { await opened(); return { passed: x } }`
  const optional = { trigger: false }
  await story.save(
    'asof',
    flow(
      [
        code('hold', held, [input('x', 'int')], [output('passed', 'int')]),
        code(
          'read',
          'export default ({ passed, x, other }) => ({ y: [passed, x, other] })',
          [input('passed', 'int'), input('x', 'int', optional), input('other', 'int', optional)],
          [output('y', 'json')],
        ),
      ],
      int('x'),
      int('other'),
    ),
  )
  story.publish('asof.other', 100)
  story.publish('asof.x', 1)
  story.publish('asof.other', 200)
  story.publish('asof.x', 2)
  await eventually(() => live.engine.flows.get('asof').backlog.waiting === 1, 'the second waits for the first')
  gate.open()
  assert.deepEqual(await story.values('asof.y', 2), [
    [1, 1, 100],
    [2, 2, 200],
  ])
})

test('each emission is a wave of its own: every reader gets every one, in order, and the newest stays', async () => {
  const story = new Story(live.engine)
  const shapes = {
    yields: 'export default function* ({ x }) { for (let i = 1; i <= 3; i++) yield { item: x + i } }',
    awaits:
      'export default async function* ({ x }) { for (let i = 1; i <= 3; i++) { await null; yield { item: x + i } } }',
    emits:
      'export default ({ x }, ctx) => { ctx.emit({ item: x + 1 }); ctx.emit({ item: x + 2 }); return { item: x + 3 } }',
    emits_later:
      'export default async ({ x }, ctx) => { for (let i = 1; i <= 3; i++) await ctx.emit({ item: x + i }) }',
    returns:
      'export default function* ({ x }) { yield { item: x + 1 }; yield { item: x + 2 }; return { item: x + 3 } }',
  }
  for (const [name, source] of Object.entries(shapes)) {
    const double = 'export default ({ item }) => ({ doubled: item * 2 })'
    const join = 'export default ({ item, doubled }) => ({ y: [item, doubled] })'
    await story.save(
      name,
      flow(
        [
          code('source', source, [input('x', 'int')], [output('item', 'int')]),
          code('double', double, [input('item', 'int')], [output('doubled', 'int')]),
          code('join', join, [input('item', 'int'), input('doubled', 'int')], [output('y', 'json')]),
        ],
        int('x'),
      ),
    )
    for (const x of [10, 20]) story.publish(`${name}.x`, x)
    const items = [11, 12, 13, 21, 22, 23]
    assert.deepEqual(
      await story.values(`${name}.y`, 6),
      items.map(item => [item, item * 2]),
      name,
    )
    assert.deepEqual(await story.values(`${name}.item`), items, name)
    assert.equal(story.value(`${name}.item`), 23)
    await eventually(async () => (await story.cascades(name)).length === 2, 'both cascades are recorded')
    for (const { executions, status } of await story.cascades(name))
      assert.deepEqual([executions, status], [7, 'succeeded'])
  }
})

test('one node runs one execution at a time, and outputs keep the order of inputs', async () => {
  const story = new Story(live.engine)
  const later = `import { setTimeout as sleep } from 'node:timers/promises'
let inside = 0
export default async ({ x }) => {
  if (++inside > 1) throw new Error('two at once')
  await sleep(10 - x)
  inside--
  return { y: x }
}`
  const next = `import { setTimeout as sleep } from 'node:timers/promises'
export default async ({ y }) => { await sleep(y % 3); return { z: y } }`
  await story.save(
    'order',
    flow(
      [
        code('later', later, [input('x', 'int')], [output('y', 'int')]),
        code('next', next, [input('y', 'int')], [output('z', 'int')]),
      ],
      int('x'),
    ),
  )
  const given = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  for (const x of given) story.publish('order.x', x)
  assert.deepEqual(await story.values('order.z', 10), given)
  assert.deepEqual(await story.values('order.y'), given)
})

test('a generator waits for what it emitted: it is pulled again when the inline part of its last wave is done', async () => {
  const story = new Story(live.engine)
  const source = `export default function* ({ n }, ctx) {
  for (let i = 1; i <= n; i++) {
    if ((globalThis.seen ?? 0) !== i - 1) throw new Error('pulled before ' + (i - 1) + ' had run')
    yield { item: i }
  }
}`
  await story.save(
    'pulled',
    flow(
      [
        code('source', source, [input('n', 'int')], [output('item', 'int')]),
        code('sink', 'export default ({ item }) => { globalThis.seen = item }', [input('item', 'int')]),
      ],
      int('n'),
    ),
  )
  story.publish('pulled.n', 2000)
  await story.executed('pulled', 'sink', 2000)
  assert.deepEqual(await story.errors('pulled.source', 0), [])
})

test('a rate-limited port: the first value passes, of the others the newest comes at the end of the interval', async () => {
  const story = new Story(live.engine)
  const burst = 'export default function* ({ n }) { for (let i = 1; i <= n; i++) yield { y: i } }'
  const read = 'export default ({ y }) => ({ seen: y })'
  await story.save(
    'rated',
    flow(
      [
        code('burst', burst, [input('n', 'int')], [output('y', 'int', { rate_hz: 4 })]),
        code('read', read, [input('y', 'int')], [output('seen', 'int')]),
      ],
      int('n'),
    ),
  )
  story.publish('rated.n', 100)
  assert.deepEqual(await story.values('rated.seen', 2), [1, 100])
  assert.deepEqual(await story.values('rated.y'), [1, 100])
  assert.equal(story.node('rated', 'burst').replaced, 98)
  await eventually(async () => (await story.cascades('rated')).length === 2, 'both cascades are recorded')
  const cascades = (await story.cascades('rated')).reverse()
  assert.deepEqual(
    cascades.map(one => [one.root, one.root_version, one.parent, one.executions]),
    [
      ['rated.n', 1, null, 2],
      ['rated.y', 2, null, 1],
    ],
  )
})

test('a loop runs as long as it feeds itself, each turn a wave one deeper', async () => {
  const story = new Story(live.engine)
  const count = 'export default ({ n }) => n > 0 ? { n: n - 1 } : { done: true }'
  await story.save(
    'loop',
    flow([code('count', count, [input('n', 'int')], [output('n', 'int'), output('done', 'bool')])]),
  )
  story.publish('loop.n', 900)
  await story.becomes('loop.done', true)
  assert.equal(story.version('loop.n'), 901)
  assert.equal(story.node('loop', 'count').executions, 901)
  assert.equal(story.issue('loop', 'cycle'), undefined)
})

test('a loop that never ends is broken at its depth, and the issue prints the way round', async () => {
  const story = new Story(live.engine)
  const pass = (from: string, to: string) =>
    code(to, `export default ({ ${from} }) => ({ ${to}: ${from} + 1 })`, [input(from, 'int')], [output(to, 'int')])
  await story.save('endless', flow([pass('c', 'a'), pass('a', 'b'), pass('b', 'c')]))
  story.publish('endless.a', 0)
  await story.shows('endless', 'cycle')
  const issue = story.issue('endless', 'cycle')!
  assert.match(issue.message, /(a -> b -> c -> a)|(b -> c -> a -> b)|(c -> a -> b -> c)/)
  assert.equal(issue.advisory, false)
  const [event] = await story.events('endless', 'cycle_broken')
  assert.match(String(event!['cycle']), / -> /)
  await eventually(async () => (await story.cascades('endless')).length === 1, 'the cascade is recorded')
  const [cascade] = await story.cascades('endless')
  assert.equal(cascade!.status, 'failed')
  // Depth 0 and the thousand after it.
  assert.ok(story.version('endless.c') >= 1000 && story.version('endless.c') <= 1001)
  // The flow goes on.
  const before = story.version('endless.a')
  assert.equal(story.publish('endless.a', 0), before + 1)
  await eventually(async () => (await story.cascades('endless')).length === 2, 'the second cascade is recorded')
})

test('a loop that multiplies is broken by the number of its waves', async () => {
  const story = new Story(live.engine)
  const split = 'export default ({ n }, ctx) => { ctx.emit({ n: n + 1 }); return { n: n + 1 } }'
  await story.save('split', flow([code('split', split, [input('n', 'int')], [output('n', 'int')])]))
  story.publish('split.n', 0)
  await story.shows('split', 'cycle')
  assert.match(story.issue('split', 'cycle')!.message, /split -> split/)
  const ran = story.node('split', 'split').executions
  assert.ok(ran <= 10_001, `${ran} executions`)
})

test('what a generator yields is not counted as a loop, however much of it goes round', async () => {
  const story = new Story(live.engine)
  // The first item waits until the other body is loaded, so that each has gone round before the next one comes.
  const many = `import { setTimeout as sleep } from 'node:timers/promises'
export default async function* ({ go }) {
  yield { item: 1 }
  while (globalThis.gone_round !== 1) await sleep(1)
  for (let i = 2; i <= go; i++) yield { item: i }
}`
  const round =
    'export default ({ item, again }) => again === item ? (globalThis.gone_round = item, {}) : { again: item }'
  await story.save(
    'tree',
    flow(
      [
        code('many', many, [input('go', 'int')], [output('item', 'int')]),
        code('round', round, [input('item', 'int'), input('again', 'int')], [output('again', 'int')]),
      ],
      int('go'),
    ),
  )
  story.publish('tree.again', 0)
  story.publish('tree.go', 12_000)
  await story.executed('tree', 'round', 24_000)
  assert.equal(story.version('tree.again'), 12_001)
  assert.equal(story.issue('tree', 'cycle'), undefined)
})

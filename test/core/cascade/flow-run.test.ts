import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { type Context, FlowStory, node } from '../../kit/flow-story.ts'

const nothing = () => {}
const pass = (from: string, to: string) => (inputs: Record<string, unknown>) => ({ [to]: inputs[from] })
const starts = (story: FlowStory, id: string) => story.started.filter(line => line.split(' ')[0] === id)

describe('a wave', () => {
  test('runs its nodes after all that they read, whatever the order of the document', () => {
    const story = new FlowStory([
      node('last', 'b', 'c', pass('b', 'c')),
      node('middle', 'a', 'b', pass('a', 'b')),
      node('first', 'x', 'a', pass('x', 'a')),
    ])
    story.gets('x', 1)
    assert.deepEqual(story.told, ['first x=1', 'a=1', 'middle a=1', 'b=1', 'last b=1', 'c=1'])
    assert.deepEqual(story.ended, ['x@1 succeeded'])
    assert.deepEqual(story.open(), [])
  })

  test('runs the join of a diamond once, with both values of the same publish', () => {
    const story = new FlowStory([
      node('left', 'x', 'l', ({ x }) => ({ l: x + 1 })),
      node('right', 'x', 'r', ({ x }) => ({ r: x * 10 })),
      node('join', 'l r', 'sum', ({ l, r }) => ({ sum: l + r })),
    ])
    for (const x of [1, 2]) story.gets('x', x)
    assert.deepEqual(starts(story, 'join'), ['join l=2 r=10', 'join l=3 r=20'])
    assert.deepEqual(story.open(), [])
  })

  test('runs a join once, however long its branches are and however many', () => {
    const story = new FlowStory([
      node('join', 'a b c x', '', nothing),
      node('a', 'x', 'a', pass('x', 'a')),
      node('b1', 'x', 'b1', pass('x', 'b1')),
      node('b2', 'b1', 'b2', pass('b1', 'b2')),
      node('b', 'b2', 'b', pass('b2', 'b')),
      node('c', 'a b', 'c', ({ a, b }) => ({ c: a + b })),
    ])
    story.gets('x', 1)
    assert.deepEqual(starts(story, 'join'), ['join a=1 b=1 c=2 x=1'])
    assert.deepEqual(starts(story, 'c'), ['c a=1 b=1'])
  })

  test('is held up by no branch that publishes nothing', () => {
    const story = new FlowStory(
      [
        node('even', 'x', 'e', ({ x }) => (x % 2 === 0 ? { e: x } : undefined)),
        node('odd', 'x', 'o', ({ x }) => (x % 2 === 1 ? { o: x } : {})),
        node('join', 'e o', '', nothing),
        node('below', 'e', '', nothing),
      ],
      { values: { e: 0, o: 0 } },
    )
    for (const x of [1, 2]) story.gets('x', x)
    assert.deepEqual(starts(story, 'join'), ['join e=0 o=1', 'join e=2 o=1'])
    assert.deepEqual(starts(story, 'below'), ['below e=2'])
  })

  test('wakes a node for what it triggers on, not for what it only reads', () => {
    const story = new FlowStory([
      node('limit', 'y', 'limit', pass('y', 'limit')),
      node('check', 'x !limit', '', nothing),
    ])
    story.gets('y', 5)
    assert.deepEqual(starts(story, 'check'), [])
    story.gets('x', 1)
    assert.deepEqual(starts(story, 'check'), ['check x=1 limit=5'])
  })

  test('gives a read without trigger the value of this wave, when this wave publishes one', () => {
    const story = new FlowStory([
      node('check', 'x !limit', '', nothing),
      node('limit', 'x', 'limit', ({ x }) => ({ limit: x * 100 })),
    ])
    story.gets('x', 1)
    assert.deepEqual(story.started, ['limit x=1', 'check x=1 limit=100'])
  })

  test('runs no node that lacks a value, and counts that it waited', () => {
    const story = new FlowStory([node('join', 'x y !z', '', nothing), node('other', 'x', '', nothing)])
    story.gets('x', 1)
    story.gets('y', 2)
    assert.deepEqual(story.started, ['other x=1'])
    assert.deepEqual(story.waited, ['join', 'join'])
    story.gets('z', 3)
    assert.deepEqual(story.started, ['other x=1'], 'z wakes nobody')
    story.gets('y', 4)
    assert.deepEqual(story.started, ['other x=1', 'join x=1 y=4 z=3'])
    assert.deepEqual(story.ended, ['x@1 succeeded', 'y@1 succeeded', 'z@1 succeeded', 'y@2 succeeded'])
    assert.deepEqual(story.open(), [])
  })

  test('takes null for a value', () => {
    const story = new FlowStory([node('a', 'x', 'y', () => ({ y: null })), node('b', 'y', '', nothing)])
    story.gets('x', null)
    assert.deepEqual(story.told, ['a x=null', 'y=null', 'b y=null'])
  })

  test('gives each reader a copy of its own of what is no primitive', () => {
    const seen: unknown[] = []
    const spoil = ({ x }: { x: { list: number[] } }) => {
      seen.push([...x.list])
      x.list.push(99)
    }
    const story = new FlowStory([node('a', 'x', '', spoil), node('b', 'x', '', i => spoil(i))])
    story.gets('x', { list: [1] })
    assert.deepEqual(seen, [[1], [1]])
  })

  test('reads a message of another flow that wakes nobody here as it stands at that moment', () => {
    const story = new FlowStory([node('a', 'x !other.limit', '', nothing)], { values: { 'other.limit': 1 } })
    story.publish('x', 1)
    assert.equal(story.publish('other.limit', 2), 2)
    story.runs()
    assert.deepEqual(story.told, ['a x=1 limit=2'])
  })

  test('begins with a message of another flow like with one of its own', () => {
    const story = new FlowStory([node('a', 'other.x', '', nothing)])
    story.gets('other.x', 1)
    assert.deepEqual(story.told, ['a x=1'])
    assert.deepEqual(story.ended, ['other.x@1 succeeded'])
  })
})

describe('emissions', () => {
  const twice = ({ x }: { x: number }, ctx: Context) => {
    ctx.emit({ y: x * 10 + 1 })
    ctx.emit({ y: x * 10 + 2 })
    return { y: x * 10 + 3 }
  }

  test('are waves one by one: the first is of the wave that woke the node, each further one its own', () => {
    const story = new FlowStory([
      node('many', 'x', 'y', twice),
      node('left', 'y', 'l', pass('y', 'l')),
      node('join', 'l y x', '', nothing),
    ])
    story.gets('x', 1)
    assert.deepEqual(starts(story, 'join'), ['join l=11 y=11 x=1', 'join l=12 y=12 x=1', 'join l=13 y=13 x=1'])
    assert.deepEqual(story.published.slice(0, 3), ['y=11', 'y=12', 'y=13'], 'published at once')
    assert.deepEqual(story.open(), [])
  })

  test('reach every reader in order, also those of a reader that emits several itself', () => {
    const story = new FlowStory([
      node('many', 'x', 'y', twice),
      node('more', 'y', 'z', ({ y }, ctx) => {
        ctx.emit({ z: `${y}a` })
        return { z: `${y}b` }
      }),
      node('read', 'z', '', nothing),
    ])
    story.gets('x', 1)
    assert.deepEqual(
      starts(story, 'read'),
      ['11a', '11b', '12a', '12b', '13a', '13b'].map(z => `read z=${z}`),
    )
  })

  test('read what their wave did not publish as it stands when the execution starts', () => {
    const story = new FlowStory([
      node('many', 'x', 'y', twice),
      node('more', 'y', 'z', ({ y }, ctx) => {
        ctx.emit({ z: `${y}a` })
        return { z: `${y}b` }
      }),
      node('both', 'z !y', '', nothing),
    ])
    story.gets('x', 1)
    const both = ['11a y=11', '11b y=13', '12a y=12', '12b y=13', '13a y=13', '13b y=13']
    assert.deepEqual(
      starts(story, 'both'),
      both.map(z => `both z=${z}`),
    )
  })

  test('of several ports wake the readers of those ports alone', () => {
    const story = new FlowStory([
      node('split', 'x', 'even odd', ({ x }) => (x % 2 === 0 ? { even: x } : { odd: x })),
      node('e', 'even', '', nothing),
      node('o', 'odd', '', nothing),
    ])
    for (const x of [1, 2, 3]) story.gets('x', x)
    assert.deepEqual(
      story.started.filter(line => !line.startsWith('split')),
      ['o odd=1', 'e even=2', 'o odd=3'],
    )
  })

  test('go on with the next publish of the same turn only when all of this one have run', () => {
    const story = new FlowStory([node('many', 'x', 'y', twice), node('read', 'y', '', nothing)])
    for (const x of [1, 2]) story.publish('x', x)
    story.turn()
    assert.deepEqual(
      starts(story, 'read'),
      [11, 12, 13, 21, 22, 23].map(y => `read y=${y}`),
    )
    assert.ok(story.flow.hasTaken)
  })

  test('are published whole or not at all', () => {
    const story = new FlowStory([
      node('a', 'x', 'b c', ({ x }) => ({ b: x, c: x === 1 ? Number.NaN : x }), { dtype: 'float' }),
      node('read', 'b', '', nothing, { dtype: 'float' }),
    ])
    for (const x of [1, 2]) story.gets('x', x)
    assert.deepEqual(story.told, ['a x=1', 'a x=2', 'b=2', 'c=2', 'read b=2'])
    assert.deepEqual(story.failures, ['a not_finite'])
    assert.deepEqual(story.ended, ['x@1 failed', 'x@2 succeeded'])
  })

  test('held back by a rate limit are published later by others: nobody here wakes', () => {
    const story = new FlowStory([
      node('a', 'x', 'slow', ({ x }) => ({ slow: x }), { rate_hz: 1 }),
      node('b', 'x', 'free', pass('x', 'free')),
      node('read', 'slow free', '', nothing),
    ])
    story.gets('x', 1)
    story.resting_ports.add('slow')
    story.gets('x', 2)
    assert.deepEqual(starts(story, 'read'), ['read slow=1 free=1', 'read slow=1 free=2'])
    assert.deepEqual(story.held_back, ['slow=2'])
    assert.deepEqual(story.open(), [])
  })
})

describe('a body that fails', () => {
  const wrong: [string, (inputs: { x: number }) => unknown, string][] = [
    [
      'throws',
      () => {
        throw new Error('no')
      },
      'node_error',
    ],
    ['answers a key that no port declares', () => ({ y: 1, other: 2 }), 'undeclared_key'],
    ['answers a number', () => 7, 'bad_output'],
    ['answers a value of another dtype', () => ({ y: 'text' }), 'wrong_dtype'],
    ['answers infinity', () => ({ y: Number.POSITIVE_INFINITY }), 'not_finite'],
  ]
  for (const [what, body, code] of wrong)
    test(`and ${what} is an error of its node; other branches and later cascades go on`, () => {
      const story = new FlowStory(
        [
          node('bad', 'x', 'y', body, { dtype: 'float' }),
          node('below', 'y', '', nothing, { dtype: 'float' }),
          node('beside', 'x', 'z', pass('x', 'z'), { dtype: 'float' }),
          node('join', 'y z', '', nothing, { dtype: 'float' }),
        ],
        { values: { y: 0 } },
      )
      for (const x of [1, 2]) story.gets('x', x)
      assert.deepEqual(story.failures, [`bad ${code}`, `bad ${code}`])
      assert.deepEqual(starts(story, 'below'), [])
      assert.deepEqual(starts(story, 'join'), ['join y=0 z=1', 'join y=0 z=2'])
      assert.deepEqual(story.ended, ['x@1 failed', 'x@2 failed'])
      assert.deepEqual(story.open(), [])
    })

  test('keeps what it published before', () => {
    const story = new FlowStory([
      node('bad', 'x', 'y', ({ x }, ctx) => {
        ctx.emit({ y: x })
        ctx.emit({ y: x + 1 })
        throw new Error('no')
      }),
      node('read', 'y', '', nothing),
    ])
    story.gets('x', 1)
    assert.deepEqual(story.told, ['bad x=1', 'y=1', 'y=2', 'read y=1', 'read y=2'])
    assert.deepEqual(story.ended, ['x@1 failed'])
  })

  test('sees what is refused at emit, and may go on', () => {
    const codes: string[] = []
    const story = new FlowStory([
      node('a', 'x', 'y', (_, ctx) => {
        for (const outputs of [{ other: 1 }, 5, null, { y: () => {} }]) {
          try {
            ctx.emit(outputs)
          } catch (error) {
            codes.push((error as { code: string }).code)
          }
        }
        return { y: 1 }
      }),
    ])
    story.gets('x', 1)
    assert.deepEqual(codes, ['undeclared_key', 'bad_output', 'bad_output', 'wrong_dtype'])
    assert.deepEqual(story.told, ['a x=1', 'y=1'])
    assert.deepEqual(story.ended, ['x@1 succeeded'])
  })
})

describe('a loop', () => {
  /** Counts down; what it says is read again by itself. */
  const countdown = ({ n }: { n: number }) => (n > 0 ? { n: n - 1 } : undefined)

  test('runs each turn in a wave of its own, one deeper', () => {
    const story = new FlowStory(
      [
        node('a', 'x back', 'there', ({ x, back }) => ({ there: x + back })),
        node('b', 'there', 'back', ({ there }) => (there < 3 ? { back: there } : undefined)),
        node('read', 'there', '', nothing),
      ],
      { values: { back: 0 } },
    )
    story.gets('x', 1)
    assert.deepEqual(starts(story, 'a'), ['a x=1 back=0', 'a x=1 back=1', 'a x=1 back=2'])
    assert.deepEqual(starts(story, 'read'), ['read there=1', 'read there=2', 'read there=3'])
    assert.deepEqual(story.open(), [])
  })

  test('reads the value that went round, whatever was published in the meantime', () => {
    const story = new FlowStory([
      node('a', 'n', 'n', ({ n }, ctx) => {
        if (n !== 'start') return
        ctx.emit({ n: 'one' })
        ctx.emit({ n: 'two' })
        return { n: 'three' }
      }),
    ])
    story.gets('n', 'start')
    assert.deepEqual(story.started, ['a n=start', 'a n=one', 'a n=two', 'a n=three'])
    assert.deepEqual(story.open(), [])
  })

  test(`ends at a depth of ${limits.WAVE_DEPTH}, with an error that says so`, () => {
    const story = new FlowStory([node('a', 'n', 'n', ({ n }) => ({ n: n + 1 }))])
    story.gets('n', 0)
    assert.equal(story.started.length, limits.WAVE_DEPTH + 1)
    assert.deepEqual(story.cycles, [`a deeper than ${limits.WAVE_DEPTH}`])
    assert.deepEqual(story.ended, ['n@1 failed'])
    story.gets('n', 0)
    assert.equal(story.cycles.length, 2, 'each publish has the whole depth')
    assert.deepEqual(story.open(), [])
  })

  test(`ends after ${limits.BACK_EDGE_WAVES} turns of one value, however shallow`, () => {
    // Two turns for each: deep in no line, too many in all.
    const story = new FlowStory([
      node('a', 'n', 'n', ({ n }, ctx) => {
        if (n >= 20) return
        ctx.emit({ n: n + 1 })
        return { n: n + 1 }
      }),
    ])
    story.gets('n', 0)
    assert.equal(story.started.length, limits.BACK_EDGE_WAVES + 1)
    assert.equal(story.cycles[0], `a more than ${limits.BACK_EDGE_WAVES} turns of one value`)
    assert.deepEqual(story.ended, ['n@1 failed'])
    assert.deepEqual(story.open(), [])
  })

  test('counts the depth that a publish brought along from other flows', () => {
    const story = new FlowStory([node('a', 'n', 'n', countdown)])
    story.publish('n', 5, limits.WAVE_DEPTH - 2)
    story.runs()
    assert.deepEqual(story.started, ['a n=5', 'a n=4', 'a n=3'])
    assert.deepEqual(story.cycles, [`a deeper than ${limits.WAVE_DEPTH}`])
    story.publish('n', 5, limits.WAVE_DEPTH + 1)
    story.runs()
    assert.equal(story.started.length, 3, 'a publish that is too deep wakes nobody')
    assert.deepEqual(story.ended, ['n@1 failed', 'n@5 failed'])
    assert.deepEqual(story.open(), [])
  })

  test('hands the depth of its wave on with what it publishes', () => {
    const depths: string[] = []
    const story = new FlowStory([node('a', 'n', 'n m', ({ n }) => ({ m: n, ...countdown({ n }) }))], {
      publishes: (message, _version, value, depth) => depths.push(`${message}=${value} at ${depth}`),
    })
    story.publish('n', 1, 3)
    story.runs()
    assert.deepEqual(depths, ['n=0 at 3', 'm=1 at 3', 'm=0 at 4'])
  })
})

describe('a turn', () => {
  test(`takes at most ${limits.TURN_ITEMS} items`, () => {
    const story = new FlowStory([node('a', 'x', '', nothing)])
    for (let x = 0; x < limits.TURN_ITEMS + 5; x++) story.publish('x', x)
    story.turn()
    assert.deepEqual([story.started.length, story.queued], [limits.TURN_ITEMS, 5])
    story.turn()
    assert.deepEqual([story.started.length, story.queued], [limits.TURN_ITEMS + 5, 0])
  })

  test('ends at its deadline between two bodies, and the next one goes on where it was', () => {
    const story = new FlowStory([
      node('a', 'x', 'y', pass('x', 'y')),
      node('b', 'y', 'z', pass('y', 'z')),
      node('c', 'y z', '', nothing),
    ])
    for (const x of [1, 2]) story.publish('x', x)
    story.tick_ms = 1
    const lines: string[][] = []
    while (story.turn(2) || story.queued > 0) lines.push(story.news())
    lines.push(story.news())
    assert.deepEqual(lines, [
      ['a x=1', 'y=1'],
      ['b y=1', 'z=1'],
      ['c y=1 z=1'],
      ['a x=2', 'y=2'],
      ['b y=2', 'z=2'],
      ['c y=2 z=2'],
    ])
    assert.deepEqual(story.open(), [])
  })

  test('shows what it left over: it is not at rest, its inner work is counted, and its cascade is in flight', () => {
    const story = new FlowStory([node('a', 'x', 'y', pass('x', 'y')), node('b', 'y', '', nothing)])
    story.publish('x', 1)
    story.tick_ms = 1
    assert.equal(story.turn(2), true)
    assert.deepEqual([story.flow.isAtRest, story.flow.inner, story.flow.away], [false, 1, 0])
    assert.deepEqual([story.flow.openCascades.size, story.in_flight], [1, 1])
    assert.equal(story.turn(2), false)
    assert.deepEqual(story.open(), [])
  })

  test('that ends behind a value on its way round a loop leaves one cascade in flight, and it ends', () => {
    const round = ({ x, y }: { x: number; y: number }) => ((y ?? x) > 0 ? { y: (y ?? x) - 1 } : {})
    const story = new FlowStory([node('a', 'x y', 'y', round)], { values: { y: null } })
    story.publish('x', 5)
    story.publish('x', 5)
    story.tick_ms = 1
    let most = 0
    while (story.turn(2) || story.queued > 0) most = Math.max(most, story.in_flight)
    assert.equal(most, 1)
    assert.deepEqual(story.open(), [])
  })

  test('with nothing to do does nothing', () => {
    const story = new FlowStory([node('a', 'x', '', nothing)])
    assert.equal(story.turn(), false)
    assert.deepEqual([story.told, story.open()], [[], []])
  })
})

describe('a group of items that one emission of another flow brought', () => {
  test('is one cascade and one wave: a join of them runs once, with all of their values', () => {
    const story = new FlowStory([
      node('join', 'other.a other.b', 'sum', ({ a, b }) => ({ sum: a + b })),
      node('alone', 'other.b', 'c', pass('b', 'c')),
      node('both', 'sum c', '', nothing),
    ])
    for (const n of [1, 2]) story.publishGroup({ 'other.a': n, 'other.b': n * 10 })
    story.publish('other.a', 3)
    story.runs()
    assert.deepEqual(starts(story, 'join'), ['join a=1 b=10', 'join a=2 b=20', 'join a=3 b=20'])
    assert.deepEqual(starts(story, 'both'), ['both sum=11 c=10', 'both sum=22 c=20', 'both sum=23 c=20'])
    assert.deepEqual(story.ended, ['other.a@1 succeeded', 'other.a@2 succeeded', 'other.a@3 succeeded'])
    assert.deepEqual(story.open(), [])
  })

  test('of which a deploy took one message away goes on with the others, and its cascade has failed', () => {
    const story = new FlowStory([node('join', 'other.a other.b', '', nothing)])
    story.publishGroup({ 'other.a': 1, 'other.b': 2 })
    story.deploys([node('left', 'other.b', '', nothing)])
    story.runs()
    assert.deepEqual([story.started, story.plan_changed], [['left b=2'], ['-']])
    assert.deepEqual(story.ended, ['other.a@1 failed'])
    assert.deepEqual(story.open(), [])
  })

  test('that is too deep is told once as a loop', () => {
    const story = new FlowStory([node('join', 'other.a other.b', '', nothing)])
    story.publishGroup({ 'other.a': 1, 'other.b': 2 })
    story.deepens(limits.WAVE_DEPTH + 1)
    story.runs()
    assert.deepEqual([story.started, story.cycles.length], [[], 1])
    assert.deepEqual(story.open(), [])
  })
})

describe('an item', () => {
  test('that nobody reads any more fails its cascade, counted', () => {
    const story = new FlowStory([node('a', 'x', '', nothing)])
    story.publish('x', 1)
    story.deploys([node('a', 'z', '', nothing)])
    story.runs()
    assert.deepEqual([story.told, story.plan_changed, story.ended], [[], ['-'], ['x@1 failed']])
    assert.deepEqual(story.open(), [])
  })

  test('begins one cascade, which ends once, with all that it started', () => {
    const sums: number[] = []
    const story = new FlowStory(
      [
        node('a', 'x', 'y', (_, ctx) => {
          for (let y = 0; y < 4; y++) ctx.emit({ y })
        }),
        node('b', 'y', '', nothing),
      ],
      { ends: cascade => sums.push(cascade.executions) },
    )
    for (const x of [1, 2, 3]) story.publish('x', x)
    story.runs()
    assert.deepEqual(story.ended, ['x@1 succeeded', 'x@2 succeeded', 'x@3 succeeded'])
    assert.deepEqual(sums, [5, 5, 5])
    assert.deepEqual(story.open(), [])
  })
})

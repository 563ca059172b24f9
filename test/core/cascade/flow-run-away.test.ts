import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { FlowStory, Held, node } from '../../kit/flow-story.ts'

const nothing = () => {}
const pass = (from: string, to: string) => (inputs: Record<string, unknown>) => ({ [to]: inputs[from] })
const starts = (story: FlowStory, id: string) => story.started.filter(line => line.split(' ')[0] === id)

describe('a body away', () => {
  test('holds up the nodes below it in its wave, and no others', async () => {
    const slow = new Held()
    const story = new FlowStory([
      node('slow', 'x', 'a', slow.body),
      node('fast', 'x', 'b', pass('x', 'b')),
      node('beside', 'b', '', nothing),
      node('join', 'a b', '', nothing),
    ])
    story.gets('x', 1)
    assert.deepEqual(story.started, ['slow x=1', 'fast x=1', 'beside b=1'])
    slow.answers({ a: 10 })
    await story.settles()
    assert.deepEqual(starts(story, 'join'), ['join a=10 b=1'])
    assert.deepEqual(story.open(), [])
  })

  test('is counted, keeps its cascade open and its flow from resting', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', '', slow.body)])
    story.gets('x', 1)
    const { flow } = story
    assert.deepEqual([flow.away, flow.isAtRest, flow.openCascades.size, story.in_flight], [1, false, 1, 1])
    assert.deepEqual([flow.inner, story.ended], [0, []])
    slow.answers()
    await story.settles()
    assert.deepEqual(story.ended, ['x@1 succeeded'])
    assert.deepEqual(story.open(), [])
  })

  test('lets later cascades go on up to its node, where they wait in their order', async () => {
    const slow = new Held()
    const story = new FlowStory([
      node('before', 'x', 'y', pass('x', 'y')),
      node('slow', 'y', 'z', slow.body),
      node('after', 'z', '', nothing),
    ])
    for (const x of [1, 2, 3]) story.gets('x', x)
    assert.deepEqual(story.started, ['before x=1', 'slow y=1', 'before x=2', 'before x=3'])
    assert.deepEqual([story.flow.inner, story.flow.away, story.in_flight], [2, 1, 3])
    for (const z of [1, 2, 3]) {
      slow.answers({ z })
      await story.settles()
    }
    assert.deepEqual(starts(story, 'slow'), ['slow y=1', 'slow y=2', 'slow y=3'])
    assert.deepEqual(starts(story, 'after'), ['after z=1', 'after z=2', 'after z=3'])
    assert.deepEqual(story.ended, ['x@1 succeeded', 'x@2 succeeded', 'x@3 succeeded'])
    assert.deepEqual(story.open(), [])
  })

  test('gives its node to the next one at once, before the readers of what it answered have run', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body), node('after', 'y', '', nothing)])
    for (const x of [1, 2]) story.gets('x', x)
    slow.answers({ y: 1 })
    await story.settles()
    assert.deepEqual(story.told, ['slow x=1', 'y=1', 'after y=1', 'slow x=2'])
    assert.equal(slow.calls.length, 1)
    slow.answers()
    await story.settles()
    assert.deepEqual(story.open(), [])
  })

  test('answers nothing: its wave goes on without it', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'a', slow.body), node('join', 'x !a', '', nothing)], {
      values: { a: 0 },
    })
    story.gets('x', 1)
    assert.deepEqual(starts(story, 'join'), [])
    slow.answers()
    await story.settles()
    assert.deepEqual(starts(story, 'join'), ['join x=1 a=0'])
    assert.deepEqual(story.open(), [])
  })

  test('and another one: the join waits for both, in whichever order they come back', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const slow = [new Held(), new Held()] as const
      const story = new FlowStory([
        node('left', 'x', 'l', slow[0].body),
        node('right', 'x', 'r', slow[1].body),
        node('join', 'l r', '', nothing),
      ])
      for (const x of [1, 2]) story.gets('x', x)
      for (const times of [1, 2])
        for (const which of order) {
          assert.equal(starts(story, 'join').length, times - 1)
          slow[which]!.answers(which === 0 ? { l: times } : { r: times * 10 })
          await story.settles()
        }
      assert.deepEqual(starts(story, 'join'), ['join l=1 r=10', 'join l=2 r=20'])
      assert.deepEqual(story.open(), [])
    }
  })

  test('that emits lets its readers run before it comes back, in order', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body), node('after', 'y x', '', nothing)])
    for (const x of ['a', 'b']) story.gets('x', x)
    slow.emits({ y: 1 })
    slow.emits({ y: 2 })
    assert.ok(story.wanted, 'the lane is asked for a turn')
    story.runs()
    assert.deepEqual(starts(story, 'after'), ['after y=1 x=a', 'after y=2 x=b'])
    slow.answers({ y: 3 })
    await story.settles()
    assert.deepEqual(story.told.slice(-3), ['y=3', 'after y=3 x=b', 'slow x=b'])
    slow.answers()
    await story.settles()
    assert.deepEqual(starts(story, 'after').slice(3), ['after y=3 x=b'])
    assert.deepEqual(story.open(), [])
  })

  test('that has ended says nothing any more', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body)])
    story.gets('x', 1)
    const { ctx } = slow.calls[0]!
    slow.answers({ y: 1 })
    await story.settles()
    ctx.emit({ y: 2 })
    await story.settles()
    assert.deepEqual(story.published, ['y=1'])
    assert.deepEqual(story.open(), [])
  })

  test('that was away in its call already has contributed what it emitted before', async () => {
    const slow = new Held()
    const story = new FlowStory([
      node('slow', 'x', 'y', (inputs, ctx) => {
        ctx.emit({ y: 'first' })
        ctx.emit({ y: 'second' })
        return slow.body(inputs, ctx)
      }),
      node('after', 'y', '', nothing),
    ])
    story.gets('x', 1)
    assert.deepEqual(starts(story, 'after'), ['after y=first', 'after y=second'])
    slow.answers({ y: 'third' })
    await story.settles()
    assert.deepEqual(starts(story, 'after').slice(2), ['after y=third'])
    assert.deepEqual(story.open(), [])
  })

  test('counts against the bound on cascades in flight, from the turn that it outlives', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', '', slow.body), node('fast', 'z', '', nothing)])
    story.max_in_flight = 2
    for (const z of [1, 2, 3]) story.publish('z', z)
    for (const x of [1, 2, 3]) story.publish('x', x)
    story.runs()
    assert.deepEqual([story.queued, story.in_flight, starts(story, 'fast').length], [1, 2, 3])
    slow.answers()
    await story.settles()
    assert.deepEqual([story.queued, story.in_flight], [0, 2])
  })
})

describe('reading as of the emission', () => {
  test('a wave never reads what a later cascade published', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body), node('read', 'y !m', '', nothing)], {
      values: { m: 0 },
    })
    for (const at of [1, 2, 3]) {
      story.gets('x', at)
      story.gets('m', at)
    }
    for (const y of [1, 2, 3]) {
      slow.answers({ y })
      await story.settles()
    }
    assert.deepEqual(starts(story, 'read'), ['read y=1 m=0', 'read y=2 m=1', 'read y=3 m=2'])
    story.gets('x', 4)
    slow.answers({ y: 4 })
    await story.settles()
    assert.deepEqual(starts(story, 'read').slice(3), ['read y=4 m=3'])
    assert.deepEqual(story.open(), [])
  })

  test('a wave finds no value where only later cascades have brought one', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body), node('read', 'y !m', '', nothing)])
    story.gets('x', 1)
    story.gets('m', 1)
    slow.answers({ y: 1 })
    await story.settles()
    assert.deepEqual([starts(story, 'read'), story.waited], [[], ['read']])
    assert.deepEqual(story.open(), [])
  })

  test('a wave reads its own value, though later ones have replaced it', async () => {
    const slow = new Held()
    const story = new FlowStory([
      node('mark', 'x', 'm', pass('x', 'm')),
      node('slow', 'x', 'y', slow.body),
      node('read', 'y m', '', nothing),
    ])
    for (const x of [1, 2, 3]) story.gets('x', x)
    for (const y of [1, 2, 3]) {
      slow.answers({ y })
      await story.settles()
    }
    assert.deepEqual(starts(story, 'read'), ['read y=1 m=1', 'read y=2 m=2', 'read y=3 m=3'])
    assert.deepEqual(story.open(), [])
  })

  test('of what its own cascade published in other waves it sees the newest', async () => {
    const slow = new Held()
    const story = new FlowStory([
      node('many', 'x', 'm', ({ x }, ctx) => {
        ctx.emit({ m: x })
        return { m: x + 1 }
      }),
      node('slow', 'x', 'y', slow.body),
      node('read', 'y !m', '', nothing),
      node('other', 'y !x', '', nothing),
    ])
    story.gets('x', 1)
    slow.answers({ y: 1 })
    await story.settles()
    assert.deepEqual(starts(story, 'read'), ['read y=1 m=1'], 'its own wave published m=1')
    assert.deepEqual(story.open(), [])
  })

  test('a further emission of a body away sees what was published up to then', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body), node('read', 'y !m', '', nothing)], {
      values: { m: 0 },
    })
    story.gets('x', 1)
    story.gets('m', 1)
    slow.emits({ y: 1 })
    story.runs()
    story.gets('m', 2)
    slow.emits({ y: 2 })
    story.runs()
    assert.deepEqual(starts(story, 'read'), ['read y=1 m=0', 'read y=2 m=2'])
    slow.answers()
    await story.settles()
    assert.deepEqual(story.open(), [])
  })

  test('stays true while thousands of values are replaced, for each of the waves that wait', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body), node('read', 'y !m !n', '', nothing)], {
      values: { m: 0, n: 0 },
    })
    const expected: string[] = []
    for (let x = 1; x <= 6; x++) {
      expected.push(`read y=${x} m=${(x - 1) * 700} n=${(x - 1) * 10}`)
      story.gets('x', x)
      for (let m = 1; m <= 700; m++) story.gets('m', (x - 1) * 700 + m)
      for (let n = 1; n <= 10; n++) story.gets('n', (x - 1) * 10 + n)
    }
    for (let y = 1; y <= 6; y++) {
      slow.answers({ y })
      await story.settles()
    }
    assert.deepEqual(starts(story, 'read'), expected)
    assert.deepEqual(story.open(), [])
  })
})

describe('a generator', () => {
  const count = (to: number) =>
    function* () {
      for (let y = 1; y <= to; y++) yield { y }
    }

  test('is pulled again when the readers of its last yield have run', () => {
    const story = new FlowStory([
      node('make', 'x', 'y', function* ({ x }) {
        yield { y: x + 1 }
        yield { y: x + 2 }
        return { y: x + 3 }
      }),
      node('twice', 'y', 'z', ({ y }) => ({ z: y * 2 })),
      node('read', 'y z', '', nothing),
    ])
    story.gets('x', 0)
    assert.deepEqual(story.told, [
      ...['make x=0', 'y=1', 'twice y=1', 'z=2', 'read y=1 z=2'],
      ...['y=2', 'twice y=2', 'z=4', 'read y=2 z=4'],
      ...['y=3', 'twice y=3', 'z=6', 'read y=3 z=6'],
    ])
    assert.deepEqual(story.open(), [])
  })

  test('holds up the nodes below it until its first yield, as if it were a body that answers', () => {
    const story = new FlowStory([
      node('make', 'x', 'y', count(2)),
      node('beside', 'x', 'b', pass('x', 'b')),
      node('join', 'y b', '', nothing),
    ])
    story.gets('x', 1)
    assert.deepEqual(starts(story, 'join'), ['join y=1 b=1', 'join y=2 b=1'])
    assert.deepEqual(story.open(), [])
  })

  test('is one execution: the next one of its node waits until it has ended', () => {
    const story = new FlowStory([
      node('make', 'x', 'y', function* ({ x }) {
        yield { y: `${x}a` }
        yield { y: `${x}b` }
      }),
      node('read', 'y', '', nothing),
    ])
    for (const x of [1, 2]) story.publish('x', x)
    story.runs()
    assert.deepEqual(
      starts(story, 'read'),
      ['1a', '1b', '2a', '2b'].map(y => `read y=${y}`),
    )
    assert.deepEqual(story.open(), [])
  })

  test(`is pulled at most ${limits.GENERATOR_PULLS_PER_TURN} times a turn, and what came in goes first in the next`, () => {
    const story = new FlowStory([node('make', 'x', 'y', count(600)), node('other', 'z', '', nothing)])
    story.publish('x', 1)
    story.publish('z', 1)
    assert.equal(story.turn(), true)
    assert.deepEqual([story.published.length, starts(story, 'other').length], [limits.GENERATOR_PULLS_PER_TURN, 1])
    story.publish('z', 2)
    story.told.length = 0
    story.turn()
    assert.equal(story.told[0], 'other z=2')
    story.runs()
    assert.equal(story.published.length, 600 - limits.GENERATOR_PULLS_PER_TURN)
    assert.deepEqual(story.open(), [])
  })

  test('takes turns with the other generators of its flow', () => {
    function* endless() {
      for (;;) yield { y: 0 }
    }
    const again = function* () {
      for (;;) yield { z: 0 }
    }
    const story = new FlowStory([node('a', 'x', 'y', endless), node('b', 'x', 'z', again)])
    story.publish('x', 1)
    for (let turn = 0; turn < 6; turn++) assert.equal(story.turn(), true)
    const pulls = (line: string) => story.published.filter(published => published === line).length
    assert.equal(pulls('y=0') + pulls('z=0'), 6 * limits.GENERATOR_PULLS_PER_TURN)
    assert.ok(pulls('y=0') >= 512 && pulls('z=0') >= 512, `${pulls('y=0')} and ${pulls('z=0')}`)
  })

  test(`is not pulled while ${limits.FLOW_WAITING_ITEMS} executions wait in its flow, and goes on afterwards`, async () => {
    const slow = new Held()
    const total = limits.FLOW_WAITING_ITEMS + 50
    const story = new FlowStory([node('make', 'x', 'y', count(total)), node('slow', 'y', '', slow.body)])
    story.gets('x', 1)
    assert.deepEqual(
      [story.published.length, story.flow.inner],
      [limits.FLOW_WAITING_ITEMS + 1, limits.FLOW_WAITING_ITEMS],
    )
    for (let times = 0; times < 10; times++) {
      slow.answers()
      await story.settles()
    }
    assert.equal(story.published.length, limits.FLOW_WAITING_ITEMS + 11)
  })

  test('that never yields lets its wave go on, and one that yields nothing at a time does too', () => {
    const story = new FlowStory(
      [
        node('make', 'x', 'y', function* () {
          yield {}
        }),
        node('read', 'x !y', '', nothing),
      ],
      { values: { y: 0 } },
    )
    story.gets('x', 1)
    assert.deepEqual(starts(story, 'read'), ['read x=1 y=0'])
    assert.deepEqual(story.open(), [])
  })

  test('whose yield is refused has ended, and its clean-up runs', () => {
    const log: string[] = []
    const story = new FlowStory([
      node('make', 'x', 'y', function* () {
        try {
          yield { y: 1 }
          yield { other: 1 }
          yield { y: 2 }
        } finally {
          log.push('cleaned up')
        }
      }),
    ])
    story.gets('x', 1)
    assert.deepEqual([story.published, story.failures, log], [['y=1'], ['make undeclared_key'], ['cleaned up']])
    assert.deepEqual(story.open(), [])
  })

  test('may emit between its yields; all of it arrives in order', () => {
    const story = new FlowStory([
      node('make', 'x', 'y', function* (_, ctx) {
        ctx.emit({ y: 1 })
        ctx.emit({ y: 2 })
        yield { y: 3 }
        ctx.emit({ y: 4 })
        return { y: 5 }
      }),
      node('read', 'y', '', nothing),
    ])
    story.gets('x', 1)
    assert.deepEqual(
      starts(story, 'read'),
      [1, 2, 3, 4, 5].map(y => `read y=${y}`),
    )
    assert.deepEqual(story.open(), [])
  })

  test('that is asynchronous is pulled again only when its step has come and its readers have run', async () => {
    const story = new FlowStory([
      node('make', 'x', 'y', async function* () {
        yield { y: 1 }
        yield { y: 2 }
        return { y: 3 }
      }),
      node('read', 'y', '', nothing),
    ])
    story.publish('x', 1)
    await story.settles()
    assert.deepEqual(story.told, ['make x=1', 'y=1', 'read y=1', 'y=2', 'read y=2', 'y=3', 'read y=3'])
    assert.deepEqual(story.open(), [])
  })

  test('counts no turns of a loop: each yield is a root of its own', () => {
    const yields = limits.BACK_EDGE_WAVES / 2 + 10
    const story = new FlowStory(
      [
        node('make', 'go', 'start', function* () {
          for (let start = 1; start <= yields; start++) yield { start }
        }),
        // Each start goes round twice.
        node('round', 'start left', 'left', ({ start, left }) => {
          if (left.start !== start) return { left: { start, turns: 1 } }
          return left.turns < 2 ? { left: { start, turns: 2 } } : undefined
        }),
      ],
      { values: { left: { start: 0 } } },
    )
    story.gets('go', 1)
    assert.equal(starts(story, 'round').length, 3 * yields)
    assert.deepEqual([story.cycles, story.ended], [[], ['go@1 succeeded']])
    assert.deepEqual(story.open(), [])
  })
})

describe('a call', () => {
  const dispatched = { timeout: 5 }

  test('is away from its start, with the inputs that it had then', () => {
    const story = new FlowStory([node('call', 'x', 'y', nothing, dispatched), node('after', 'y !x', '', nothing)])
    for (const x of [1, 2]) story.gets('x', x)
    assert.deepEqual(starts(story, 'call'), ['call x=1'])
    story.callReturns('call', { y: 1 })
    story.runs()
    assert.deepEqual(starts(story, 'call'), ['call x=1', 'call x=2'])
    story.callReturns('call', { y: 2 })
    story.runs()
    assert.deepEqual(starts(story, 'after'), ['after y=1 x=1', 'after y=2 x=2'])
    assert.deepEqual(story.open(), [])
  })

  test('hears that an emission is processed when it was published', () => {
    const story = new FlowStory([node('call', 'x', 'y', nothing, dispatched), node('after', 'y', '', nothing)])
    story.gets('x', 1)
    const first = story.callEmits('call', { y: 1 })
    const second = story.callEmits('call', { y: 2 })
    assert.deepEqual([first.processed, story.flow.inner], [false, 2])
    story.runs()
    assert.deepEqual([first.processed, second.processed], [true, true])
    assert.deepEqual(starts(story, 'after'), ['after y=1', 'after y=2'])
    story.callReturns('call', undefined)
    story.runs()
    assert.deepEqual(story.open(), [])
  })

  test('begins for a node that was promoted, from its next execution on', () => {
    const story = new FlowStory([node('a', 'x', 'y', pass('x', 'y'))])
    story.gets('x', 1)
    story.promoted.add('a')
    for (const x of [2, 3]) story.gets('x', x)
    assert.deepEqual([story.published, story.calls.length], [['y=1'], 1])
    for (const y of [2, 3]) {
      story.callReturns('a', { y })
      story.runs()
    }
    assert.deepEqual(story.published, ['y=1', 'y=2', 'y=3'])
    assert.deepEqual(story.open(), [])
  })
})

describe('a body that is loaded', () => {
  test('later keeps what comes meanwhile in order', () => {
    const story = new FlowStory(
      [node('a', 'x', 'y', pass('x', 'y')), node('b', 'y', '', nothing), node('c', 'x', '', nothing)],
      { loads_by_hand: true },
    )
    story.loads('c')
    for (const x of [1, 2, 3]) story.publish('x', x)
    story.runs()
    assert.deepEqual(story.told, ['c x=1', 'c x=2', 'c x=3'])
    assert.deepEqual([story.flow.isAtRest, story.flow.inner], [false, 3])
    story.loads('b')
    story.loads('a')
    story.runs()
    assert.deepEqual(starts(story, 'a'), ['a x=1', 'a x=2', 'a x=3'])
    assert.deepEqual(starts(story, 'b'), ['b y=1', 'b y=2', 'b y=3'])
    assert.deepEqual(story.open(), [])
  })

  test('at once keeps nobody waiting: a flow that only loads goes nowhere, and rests when it has', () => {
    const story = new FlowStory([node('a', 'x', '', nothing), node('b', 'x', '', nothing)], { loads_by_hand: true })
    assert.deepEqual([story.loading.length, story.flow.away], [2, 2])
    story.loads()
    assert.deepEqual(story.open(), [])
  })

  test('badly fails every execution of its node, and nothing else', () => {
    const story = new FlowStory(
      [node('bad', 'x', 'y', nothing), node('good', 'x', '', nothing), node('join', 'x !y', '', nothing)],
      { loads_by_hand: true, values: { y: 0 } },
    )
    for (const x of [1, 2]) story.publish('x', x)
    story.runs()
    story.breaks('bad')
    story.loads()
    story.runs()
    assert.deepEqual(story.failures, ['bad node_error', 'bad node_error'])
    assert.deepEqual(starts(story, 'good'), ['good x=1', 'good x=2'])
    assert.deepEqual(starts(story, 'join'), ['join x=1 y=0', 'join x=2 y=0'])
    assert.deepEqual(story.ended, ['x@1 failed', 'x@2 failed'])
    assert.deepEqual(story.open(), [])
  })
})

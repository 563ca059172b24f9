import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Context, FlowStory, Held, node } from '../../kit/flow-story.ts'

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

  test('that has ended is refused what it emits', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body)])
    story.gets('x', 1)
    const { ctx } = slow.calls[0]!
    slow.answers({ y: 1 })
    await story.settles()
    assert.throws(() => ctx.emit({ y: 2 }), { code: 'emit_after_end' })
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

  test('that fails lets its wave go on, and its cascade ends', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body), node('join', 'x !y', '', nothing)], {
      values: { y: 0 },
    })
    for (const x of [1, 2]) story.gets('x', x)
    for (let times = 0; times < 2; times++) {
      slow.fails()
      await story.settles()
    }
    assert.deepEqual(starts(story, 'join'), ['join x=1 y=0', 'join x=2 y=0'])
    assert.deepEqual(story.ended, ['x@1 failed', 'x@2 failed'])
    assert.deepEqual(story.open(), [])
  })

  test('that fails together with others leaves none of their waves behind', async () => {
    const slow = [new Held(), new Held(), new Held()]
    const story = new FlowStory([
      ...slow.map((held, at) => node(`slow${at}`, `x${at}`, `y${at}`, held.body)),
      node('join', 'x0 x1 x2 !y0 !y1 !y2', '', nothing),
    ])
    for (const at of [0, 1, 2]) story.gets(`x${at}`, at)
    slow[0]!.fails()
    slow[1]!.answers({ y1: 1 })
    slow[2]!.fails()
    await story.settles()
    assert.deepEqual(story.ended.toSorted(), ['x0@1 failed', 'x1@1 succeeded', 'x2@1 failed'])
    assert.deepEqual(story.open(), [])
  })

  test('keeps the versions of a message in order for who waits for it in one wave and not in the next', async () => {
    const slow = new Held()
    // x=1 goes on over both ports, x=2 over one: the join of the first wave waits for the slow one, that of the second does not.
    const split = ({ x }: { x: number }) => (x === 1 ? { p: x, q: x } : { p: x })
    const story = new FlowStory(
      [node('split', 'x', 'p q', split), node('slow', 'q', 'r', slow.body), node('join', 'p r', '', nothing)],
      { values: { r: 0 } },
    )
    for (const x of [1, 2]) story.gets('x', x)
    slow.answers({ r: 1 })
    await story.settles()
    assert.deepEqual(starts(story, 'join'), ['join p=1 r=1', 'join p=2 r=1'])
    assert.deepEqual(story.open(), [])
  })

  test('without end holds up its own readers alone: what it emits passes those who wait for its next execution', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', 'y', slow.body), node('after', 'y x', '', nothing)])
    for (const x of ['a', 'b']) story.gets('x', x)
    for (const y of [1, 2, 3]) {
      slow.emits({ y })
      story.runs()
      assert.equal(starts(story, 'after').length, y)
    }
    slow.answers()
    await story.settles()
    slow.answers({ y: 4 })
    await story.settles()
    assert.deepEqual(starts(story, 'after').at(-1), 'after y=4 x=b')
    assert.deepEqual(story.open(), [])
  })
})

describe('a body that has returned', () => {
  for (const first of [undefined, { y: 0 }])
    test(`${first ? 'something' : 'nothing'} is refused what it emits later`, () => {
      const told: Context[] = []
      const body = (_: object, ctx: Context) => {
        told.push(ctx)
        return first
      }
      const story = new FlowStory([node('a', 'x', 'y', body), node('b', 'y', '', nothing)])
      story.gets('x', 1)
      story.news()
      assert.throws(() => told[0]!.emit({ y: 1 }), { code: 'emit_after_end' })
      story.runs()
      assert.deepEqual([story.told, story.open()], [[], []])
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

  test('whose emission is refused has failed, and its wave goes on', () => {
    const story = new FlowStory([node('call', 'x', 'y', nothing, dispatched), node('read', 'x !y', '', nothing)], {
      values: { y: 0 },
    })
    story.gets('x', 1)
    story.callEmits('call', { other: 1 })
    story.runs()
    assert.deepEqual([story.failures, starts(story, 'read')], [['call undeclared_key'], ['read x=1 y=0']])
    assert.deepEqual(story.open(), [])
  })

  test('that is lost has failed, and its wave goes on', () => {
    const story = new FlowStory([node('call', 'x', 'y', nothing, dispatched), node('read', 'x !y', '', nothing)], {
      values: { y: 0 },
    })
    for (const x of [1, 2]) story.gets('x', x)
    for (const _ of [1, 2]) {
      story.callThrows('call')
      story.runs()
    }
    assert.deepEqual(starts(story, 'read'), ['read x=1 y=0', 'read x=2 y=0'])
    assert.deepEqual(story.ended, ['x@1 failed', 'x@2 failed'])
    assert.deepEqual(story.open(), [])
  })

  test('has its emissions read in order, also when its wave has just been let in at another node', () => {
    const story = new FlowStory([
      node('call', 'x', 'y', nothing, dispatched),
      node('other', 'x', 'z', nothing, dispatched),
      node('read', 'y', '', nothing),
    ])
    for (const x of [1, 2]) story.gets('x', x)
    story.callReturns('call')
    story.runs()
    story.callReturns('other')
    story.callEmits('call', { y: 1 })
    story.callEmits('call', { y: 2 })
    story.runs()
    assert.deepEqual(starts(story, 'read'), ['read y=1', 'read y=2'])
    for (const id of ['call', 'other']) story.callReturns(id)
    story.runs()
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

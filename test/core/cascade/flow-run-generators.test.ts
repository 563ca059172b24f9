import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { FlowStory, Held, node } from '../../kit/flow-story.ts'

const nothing = () => {}
const pass = (from: string, to: string) => (inputs: Record<string, unknown>) => ({ [to]: inputs[from] })
const starts = (story: FlowStory, id: string) => story.started.filter(line => line.split(' ')[0] === id)

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

  test('that throws has ended: the rest of its wave runs', () => {
    const story = new FlowStory(
      [
        node('make', 'x', 'y', function* () {
          if (story.begun > 1) yield { y: 1 }
          throw new Error('no')
        }),
        node('read', 'x !y', '', nothing),
      ],
      { values: { y: 0 } },
    )
    for (const x of [1, 2]) story.gets('x', x)
    assert.deepEqual(starts(story, 'read'), ['read x=1 y=0', 'read x=2 y=1'])
    assert.deepEqual(story.ended, ['x@1 failed', 'x@2 failed'])
    assert.deepEqual(story.open(), [])
  })

  test('that is asynchronous may emit before its first await: that runs at once', async () => {
    const story = new FlowStory([
      node('make', 'x', 'y', async function* (_, ctx) {
        ctx.emit({ y: 1 })
        ctx.emit({ y: 2 })
        await null
        yield { y: 3 }
      }),
      node('read', 'y', '', nothing),
    ])
    story.gets('x', 1)
    assert.deepEqual(story.told, ['make x=1', 'y=1', 'y=2', 'read y=1', 'read y=2'])
    await story.settles()
    assert.deepEqual(story.told.slice(5), ['y=3', 'read y=3'])
    assert.deepEqual(story.open(), [])
  })

  test('and another one lose no wave when both emit before their first await', async () => {
    const story = new FlowStory([
      node('first', 'x', 'a', async function* (_, ctx) {
        ctx.emit({ a: 1 })
        await null
        yield {}
      }),
      node('second', 'z', 'b', async function* (_, ctx) {
        ctx.emit({ b: 1 })
        await null
        yield {}
      }),
      node('read', 'a', '', nothing),
      node('other', 'b', '', nothing),
    ])
    for (const name of ['x', 'z']) story.publish(name, 1)
    await story.settles()
    assert.deepEqual([starts(story, 'read').length, starts(story, 'other').length], [1, 1])
    assert.deepEqual(story.open(), [])
  })

  test('is read in order, also when the turn ended before its first pull', () => {
    const story = new FlowStory(
      [node('other', 'x', '', nothing), node('make', 'x', 'y', count(2)), node('read', 'y', '', nothing)],
      { loads_by_hand: true },
    )
    for (const id of ['make', 'read']) story.loads(id)
    story.publish('x', 1)
    story.tick_ms = 1
    story.turn(2)
    assert.deepEqual(story.told, ['make x=1'])
    story.loads()
    story.runs()
    assert.deepEqual(starts(story, 'read'), ['read y=1', 'read y=2'])
    assert.deepEqual(story.open(), [])
  })
})

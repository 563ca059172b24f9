import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import type { FlowNode } from '../../../protocol/nouns/flow-document.ts'
import { FlowStory, Held, type NodeBody, node, type Refused } from '../../kit/flow-story.ts'

const nothing = () => {}
const starts = (story: FlowStory, id: string) => story.started.filter(line => line.split(' ')[0] === id)
const count = (to: number, name = 'y') =>
  function* () {
    for (let at = 1; at <= to; at++) yield { [name]: at }
  }

describe('in a full flow', () => {
  const bounds = { items: 3 }

  test('a generator is pulled while nothing that it yielded waits, whatever else does', () => {
    const story = new FlowStory([node('make', 'x', 'y', count(50)), node('twice', 'y', 'z', count(2, 'z'))], { bounds })
    for (let x = 1; x <= 8; x++) story.publish('x', x)
    story.runs()
    assert.equal(starts(story, 'twice').length, 8 * 50)
    assert.deepEqual(story.open(), [])
  })

  test('a node adds one emission to what waits, and the next one when that has begun', async () => {
    const slow = new Held()
    const story = new FlowStory([node('make', 'x', 'y', count(50)), node('slow', 'y', '', slow.body)], { bounds })
    story.gets('x', 1)
    // One is inside, and as many wait as the bound says.
    assert.equal(story.published.length, 4)
    slow.answers()
    await story.settles()
    assert.equal(story.published.length, 5)
  })

  test('a body that emits several times starts when nothing that it emitted waits', async () => {
    const slow = new Held()
    const story = new FlowStory(
      [
        node('burst', 'x', 'y', (_, ctx) => {
          for (let y = 1; y <= 4; y++) ctx.emit({ y })
        }),
        node('slow', 'y', '', slow.body),
      ],
      { bounds },
    )
    for (let x = 1; x <= 3; x++) story.gets('x', x)
    assert.equal(starts(story, 'burst').length, 1)
    while (slow.calls.length > 0) {
      slow.answers()
      await story.settles()
    }
    assert.deepEqual([starts(story, 'burst').length, starts(story, 'slow').length], [3, 12])
    assert.deepEqual(story.open(), [])
  })

  test('a body that awaits what it emits goes on when that has begun', async () => {
    const slow = new Held()
    let emitted = 0
    const story = new FlowStory(
      [
        node('make', 'x', 'y', async (_, ctx) => {
          await null
          for (let y = 1; y <= 20; y++) {
            await ctx.emit({ y })
            emitted++
          }
        }),
        node('slow', 'y', '', slow.body),
      ],
      { bounds },
    )
    story.gets('x', 1)
    await story.settles()
    assert.equal(emitted, 3)
    while (slow.calls.length > 0) {
      slow.answers()
      await story.settles()
    }
    assert.equal(emitted, 20)
    assert.deepEqual(story.open(), [])
  })

  describe('an execution that a value from its own loop waits for', () => {
    /** Each of the first five executions of `make` emits so often. */
    const EMISSIONS = 200
    /**
     * The value that went round waits at `make` for the execution to end, and keeps its place before `tells`; what the
     * execution emits next comes after it there. So `make` is held by what waits for `make`.
     */
    const looped = (body: NodeBody, more: Partial<FlowNode> = {}) =>
      new FlowStory(
        [
          node('turn', 'x y', 'z', ({ y }) => ({ z: y })),
          node('make', 'z', 'y', body, more),
          node('tells', 'y z', '', nothing),
        ],
        { bounds, values: { y: 0 } },
      )
    /** As many waves as the hard bound, that of the item, and two for each node; each waits once before each node at most. */
    const most = 3 * (3 * limits.FLOW_WAITING_HARD_FACTOR + 1 + 2 * 3)

    const runs = async (story: FlowStory, goOn = nothing) => {
      story.tick_ms = 1
      story.publish('x', 1)
      for (let turns = 0, idle = 0; idle < 3; turns++) {
        const told = story.told.length
        goOn()
        const more = story.turn(3)
        await new Promise(setImmediate)
        assert.ok(story.flow.inner <= most, `${story.flow.inner} wait in turn ${turns}`)
        idle = more || story.wanted || story.told.length > told ? 0 : idle + 1
      }
      assert.deepEqual([...new Set(story.failures)], ['make emit_overflow'])
      assert.deepEqual(story.open(), [])
    }

    test('is refused at the hard bound when it is a generator', async () => {
      let executions = 0
      await runs(
        looped(function* () {
          if (++executions <= 5) for (let y = 1; y <= EMISSIONS; y++) yield { y }
        }),
      )
    })

    test('is refused at the hard bound when it awaits what it emits', async () => {
      let executions = 0
      const body: NodeBody = async (_, ctx) => {
        await null
        if (++executions > 5) return
        for (let y = 1; y <= EMISSIONS; y++)
          try {
            await ctx.emit({ y })
          } catch (error) {
            story.failures.push(`make ${(error as Refused).code}`)
            return
          }
      }
      const story = looped(body)
      await runs(story)
    })

    test('is refused at the hard bound when it runs in a call slot', async () => {
      const story = looped(nothing, { timeout: 5 })
      const calls = new Map<unknown, { emitted: number; may: boolean }>()
      await runs(story, () => {
        const execution = story.calls[0]
        if (execution === undefined) return
        const call = calls.get(execution) ?? { emitted: 0, may: true }
        calls.set(execution, call)
        if (!call.may) return
        if (execution.ended) assert.ok((execution.abort!.signal as AbortSignal).aborted, 'the body is told to end')
        if (execution.ended || calls.size > 5 || call.emitted === EMISSIONS) return story.callReturns('make')
        call.may = false
        story.callEmits('make', { y: ++call.emitted }, () => {
          call.may = true
        })
      })
    })
  })

  test('a generator above a slow loop is held back by what waits in the loop, and none of it is broken', async () => {
    const slow = new Held()
    const nodes = [node('make', 'x', 'y', count(40)), node('round', 'y r', 'r', slow.body)]
    const story = new FlowStory(nodes, { bounds, values: { r: 0 } })
    story.gets('x', 1)
    assert.equal(story.published.length, 4)
    const rounds = new Map<unknown, number>()
    for (let y = slow.calls[0]?.inputs['y']; slow.calls.length > 0; y = slow.calls[0]?.inputs['y']) {
      rounds.set(y, (rounds.get(y) ?? 0) + 1)
      slow.answers(rounds.get(y) === 1 ? { r: y } : undefined)
      await story.settles()
    }
    assert.deepEqual([rounds.size, story.broken, story.open()], [40, 0, []])
  })

  test('what goes round a loop and multiplies ends as a cycle at the hard bound, told once with its number', async () => {
    const slow = new Held()
    const story = new FlowStory(
      [
        node('split', 'n', 'n', async (inputs, ctx) => {
          await slow.body(inputs, ctx)
          ctx.emit({ n: 1 })
          return { n: 1 }
        }),
      ],
      { bounds },
    )
    story.gets('n', 0)
    while (slow.calls.length > 0) {
      assert.ok(story.flow.inner <= 3 * limits.FLOW_WAITING_HARD_FACTOR + 2, `${story.flow.inner} wait`)
      slow.answers()
      await story.settles()
    }
    assert.equal(story.cycles.length, 1)
    assert.ok(story.broken > 1)
    assert.deepEqual([story.ended, story.open()], [['n@1 failed'], []])
  })

  test('bodies that do not await are refused at the hard bound, and those that do are not', async () => {
    const slow = new Held()
    const story = new FlowStory(
      [
        node('flood', 'x', 'y', async (_, ctx) => {
          await null
          for (let y = 1; y <= 100; y++) ctx.emit({ y })
        }),
        node('slow', 'y', '', slow.body),
        node('calm', 'w', 'v', async (_, ctx) => {
          await null
          await ctx.emit({ v: 1 })
          await ctx.emit({ v: 2 })
        }),
        node('other', 'v', '', nothing),
      ],
      { bounds },
    )
    story.publish('x', 1)
    story.publish('w', 1)
    await story.settles()
    while (slow.calls.length > 0) {
      slow.answers()
      await story.settles()
    }
    assert.deepEqual(story.failures, ['flood node_error'])
    assert.equal(starts(story, 'slow').length, 3 * limits.FLOW_WAITING_HARD_FACTOR)
    assert.equal(starts(story, 'other').length, 2)
    assert.deepEqual(story.open(), [])
  })
})

describe('in a flow that is full of bytes', () => {
  const bounds = { bytes: 100 }
  const large = 'x'.repeat(60)

  test('no cascade begins until the values of those that have begun are below the bound', async () => {
    const slow = new Held()
    const story = new FlowStory([node('slow', 'x', '', slow.body, { dtype: 'str' })], { bounds })
    for (let x = 1; x <= 5; x++) story.publish('x', large)
    story.runs()
    assert.deepEqual([story.begun, story.queued, story.flow.control.bytes], [2, 3, 120])
    slow.answers()
    await story.settles()
    assert.deepEqual([story.begun, story.queued, story.flow.control.bytes], [3, 2, 120])
    while (slow.calls.length > 0) {
      slow.answers()
      await story.settles()
    }
    assert.deepEqual([starts(story, 'slow').length, story.open()], [5, []])
  })

  test('a node whose outputs wait starts no more, though it emits once for each execution', async () => {
    const grows = new Held()
    const slow = new Held()
    const story = new FlowStory([node('grows', 'x', 'y', grows.body), node('slow', 'y', '', slow.body)], { bounds })
    for (let x = 1; x <= 8; x++) story.publish('x', x)
    await story.settles()
    while (grows.calls.length > 0) {
      grows.answers({ y: large })
      await story.settles()
    }
    // What the first gave is inside the slow node, and that of the second waits; the third had been let in by then.
    assert.equal(starts(story, 'grows').length, 3)
    while (slow.calls.length > 0) {
      slow.answers()
      await story.settles()
      if (grows.calls.length > 0) grows.answers({ y: large })
      await story.settles()
      assert.ok(story.flow.control.bytes <= 4 * 70 + 8 * 10, `${story.flow.control.bytes} bytes`)
    }
    assert.deepEqual([starts(story, 'slow').length, story.open()], [8, []])
  })

  test('a value that is larger than the bound, and than the hard bound, goes through', async () => {
    const slow = new Held()
    const story = new FlowStory(
      [
        node('first', 'x', 'y', async ({ x }) => ({ y: x })),
        node('slow', 'y', 'z', slow.body),
        node('read', 'z', '', nothing),
      ],
      { bounds: { bytes: 1 } },
    )
    for (let x = 1; x <= 3; x++) story.publish('x', large)
    await story.settles()
    while (slow.calls.length > 0) {
      slow.answers({ z: large })
      await story.settles()
    }
    assert.deepEqual([starts(story, 'read').length, story.open()], [3, []])
  })

  test('a value that is larger than the hard bound goes round a loop', () => {
    const story = new FlowStory(
      [node('round', 'x y', 'y', ({ x, y }) => (y.length < 4 * x.length ? { y: y + x } : undefined))],
      { bounds: { bytes: 1 }, values: { y: '' } },
    )
    story.gets('x', large)
    assert.deepEqual([story.published.length, story.cycles, story.open()], [4, [], []])
  })

  test('what a body emits without awaiting is refused at the hard bound of bytes', async () => {
    const story = new FlowStory(
      [
        node('burst', 'x', 'y', (_, ctx) => {
          for (let y = 1; y <= 50; y++) ctx.emit({ y: large })
        }),
        node('read', 'y', '', nothing),
      ],
      { bounds },
    )
    story.gets('x', 1)
    assert.deepEqual([story.failures, starts(story, 'read').length], [['burst node_error'], 7])
    assert.deepEqual(story.open(), [])
  })
})

describe('a turn that runs out of time', () => {
  /** Every look at the clock is a millisecond, a turn has three: no turn gets round to everything. */
  const hurried = (nodes: ConstructorParameters<typeof FlowStory>[0]) => {
    const story = new FlowStory(nodes)
    story.tick_ms = 1
    return { story, turn: () => story.turn(3) }
  }

  test('leaves a generator that never ends no more than its share: what comes in and what comes back run, too', async () => {
    const { story, turn } = hurried([
      node('endless', 'x', 'y', count(Number.POSITIVE_INFINITY)),
      node('read', 'y', '', nothing),
      node('later', 'z', '', async () => {}),
      node('after', 'z', '', nothing),
    ])
    story.publish('x', 1)
    for (let turns = 0; turns < 5; turns++) turn()
    for (let z = 1; z <= 3; z++) story.publish('z', z)
    for (let turns = 0; turns < 60; turns++) {
      turn()
      if (turns % 5 === 0) await new Promise(setImmediate)
    }
    assert.deepEqual([starts(story, 'after').length, starts(story, 'later').length], [3, 3])
    assert.equal(story.ended.filter(line => line.startsWith('z@')).length, 3)
    assert.ok(starts(story, 'read').length > 20)
  })

  test('leaves asynchronous generators that never end no more than their share', async () => {
    const ids = ['a', 'b', 'c']
    const { story, turn } = hurried([
      ...ids.map(id =>
        node(`make_${id}`, 'x', id, async function* () {
          for (;;) yield { [id]: 1 }
        }),
      ),
      ...ids.flatMap(id => [1, 2, 3].map(at => node(`read_${id}${at}`, id, '', nothing))),
      node('after', 'z', '', nothing),
    ])
    story.publish('x', 1)
    for (let turns = 0; turns < 60; turns++) {
      turn()
      await new Promise(setImmediate)
      if (turns === 10) for (let z = 1; z <= 3; z++) story.publish('z', z)
    }
    assert.equal(starts(story, 'after').length, 3)
  })

  test('takes generators on, however much comes in', () => {
    const { story, turn } = hurried([
      node('make', 'x', 'y', count(limits.GENERATOR_PULLS_PER_TURN + 5)),
      node('read', 'y', '', nothing),
      ...['a', 'b', 'c', 'd'].map(id => node(id, 'z', '', nothing)),
    ])
    story.publish('x', 1)
    story.turn()
    for (let turns = 0; turns < 100; turns++) {
      for (let z = 1; z <= 4; z++) story.publish('z', z)
      turn()
    }
    assert.equal(starts(story, 'read').length, limits.GENERATOR_PULLS_PER_TURN + 5)
  })

  test('lets a body that awaits its emission go on, beside a generator that never ends', async () => {
    let emitted = 0
    const { story, turn } = hurried([
      node('endless', 'x', 'y', count(Number.POSITIVE_INFINITY)),
      node('read', 'y', '', nothing),
      node('awaits', 'z', 'v', async (_, ctx) => {
        await null
        for (; emitted < 3; emitted++) await ctx.emit({ v: emitted })
      }),
    ])
    story.publish('z', 1)
    story.publish('x', 1)
    for (let turns = 0; turns < 60; turns++) {
      turn()
      await new Promise(setImmediate)
    }
    assert.equal(emitted, 3)
  })
})

describe('a flow that is disabled', () => {
  test('gives up what runs and what waits for a node, ends generators, and hears nothing more of its bodies', async () => {
    const slow = new Held()
    const log: string[] = []
    const story = new FlowStory([
      node('make', 'x', 'y', function* () {
        try {
          for (let y = 1; ; y++) yield { y }
        } finally {
          log.push('cleaned up')
        }
      }),
      node('slow', 'z', 'w', slow.body),
    ])
    story.publish('x', 1)
    for (const z of [1, 2]) story.publish('z', z)
    story.turn()
    story.publish('z', 3)
    story.stops()
    assert.deepEqual([log, story.interrupted, story.in_flight, story.queued], [['cleaned up'], 3, 0, 1])
    story.news()
    assert.throws(() => slow.emits({ w: 1 }), { code: 'emit_after_end' })
    slow.answers({ w: 1 })
    await story.settles()
    // Only what had waited in the queue runs.
    assert.deepEqual(story.news(), ['slow z=3'])
  })
})

describe('a purge', () => {
  test('drops the queue and what waits for nodes, and what runs goes on', async () => {
    const slow = new Held()
    const story = new FlowStory([
      node('slow', 'x', 'y', slow.body),
      node('read', 'y', '', nothing),
      node('join', 'x !z', '', nothing),
    ])
    story.max_in_flight = 3
    story.publish('z', 1)
    for (let x = 1; x <= 5; x++) story.publish('x', x)
    story.runs()
    story.purges()
    assert.deepEqual([story.purged_executions, story.purged_items], [2, 2])
    slow.answers({ y: 1 })
    await story.settles()
    assert.deepEqual([starts(story, 'read'), starts(story, 'slow')], [['read y=1'], ['slow x=1']])
    assert.deepEqual(story.ended.filter(line => line.startsWith('x@')).toSorted(), [
      'x@1 succeeded',
      'x@2 interrupted',
      'x@3 interrupted',
    ])
    assert.deepEqual(story.open(), [])
  })

  test('leaves the values that it drops as the newest, and wakes nobody with them', () => {
    const story = new FlowStory([node('read', 'x', '', nothing), node('look', 'w !x', '', nothing)])
    story.publish('x', 1)
    story.publish('x', 2)
    story.purges()
    story.gets('w', 1)
    assert.deepEqual(story.told, ['look w=1 x=2'])
  })
})

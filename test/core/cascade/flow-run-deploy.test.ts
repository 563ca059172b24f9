import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FlowStory, Held, type NodeBody, node } from '../../kit/flow-story.ts'

const nothing = () => {}
const pass = (from: string, to: string) => (inputs: Record<string, unknown>) => ({ [to]: inputs[from] })
const starts = (story: FlowStory, id: string) => story.started.filter(line => line.split(' ')[0] === id)

/** x -> work -> y -> after, beside a node that stays as it is. */
const line = (work: NodeBody, after: NodeBody = after_body) => [
  node('work', 'x', 'y', work),
  node('after', 'y', '', after),
]
const after_body: NodeBody = () => {}

describe('a deploy', () => {
  test('leaves a cascade that has begun on its plan; the next one takes the new plan', async () => {
    const slow = new Held()
    const document = (times: number) => [
      node('slow', 'x', 'y', slow.body),
      node('scale', 'y', 'z', ({ y }) => ({ z: y * times })),
    ]
    const story = new FlowStory(document(10))
    story.gets('x', 1)
    story.deploys(document(100))
    slow.answers({ y: 1 })
    await story.settles()
    story.gets('x', 2)
    slow.answers({ y: 2 })
    await story.settles()
    assert.deepEqual(
      story.published.filter(published => published.startsWith('z')),
      ['z=10', 'z=200'],
    )
    assert.deepEqual(story.open(), [])
  })

  test('in the middle of a wave changes nothing about that wave', () => {
    const document = (times: number) => [
      node('a', 'x', 'y', pass('x', 'y')),
      node('b', 'y', 'z', ({ y }) => ({ z: y * times })),
    ]
    const story = new FlowStory(document(10))
    for (const x of [1, 2]) story.publish('x', x)
    story.tick_ms = 1
    story.turn(2)
    assert.deepEqual(story.told, ['a x=1', 'y=1'])
    story.deploys(document(100))
    story.runs()
    assert.deepEqual(
      story.published.filter(published => published.startsWith('z')),
      ['z=10', 'z=200'],
    )
    assert.deepEqual(story.open(), [])
  })

  test('leaves an unchanged node its running body, what waits for it, and its order', async () => {
    const slow = new Held()
    const story = new FlowStory(line(slow.body, nothing))
    for (const x of [1, 2]) story.gets('x', x)
    story.deploys([...line(slow.body, () => {}), node('new', 'x', '', nothing)])
    story.gets('x', 3)
    assert.equal(slow.calls.length, 1)
    for (const y of [1, 2, 3]) {
      slow.answers({ y })
      await story.settles()
    }
    assert.deepEqual(starts(story, 'work'), ['work x=1', 'work x=2', 'work x=3'])
    assert.deepEqual(starts(story, 'after'), ['after y=1', 'after y=2', 'after y=3'])
    assert.deepEqual(starts(story, 'new'), ['new x=3'])
    assert.deepEqual(story.plan_changed, [])
    assert.deepEqual(story.open(), [])
  })

  test('runs what waits at a changed node on its new body, in order, when the old one has ended', async () => {
    const slow = new Held()
    const story = new FlowStory(line(slow.body))
    for (const x of [1, 2, 3]) story.gets('x', x)
    story.deploys(line(({ x }) => ({ y: `new ${x}` })))
    story.gets('x', 4)
    assert.deepEqual(starts(story, 'work'), ['work x=1'])
    slow.answers({ y: 'old 1' })
    await story.settles()
    assert.deepEqual(story.published, ['y=old 1', 'y=new 2', 'y=new 3', 'y=new 4'])
    assert.deepEqual(
      starts(story, 'after'),
      ['old 1', 'new 2', 'new 3', 'new 4'].map(y => `after y=${y}`),
    )
    assert.deepEqual(
      story.ended.toSorted(),
      [1, 2, 3, 4].map(version => `x@${version} succeeded`),
    )
    assert.deepEqual(story.open(), [])
  })

  test('tells the running body of a changed node to end, and takes what it still answers', async () => {
    const slow = new Held()
    const told: string[] = []
    const body: NodeBody = (inputs, ctx) => {
      ctx.signal.addEventListener('abort', () => told.push('told'))
      return slow.body(inputs, ctx)
    }
    const story = new FlowStory(line(body))
    story.gets('x', 1)
    story.deploys(line(body, () => {}))
    assert.deepEqual(told, [], 'its own node has not changed')
    story.deploys(line(nothing))
    assert.deepEqual(told, ['told'])
    slow.answers({ y: 1 })
    await story.settles()
    assert.deepEqual(starts(story, 'after'), ['after y=1'])
    assert.deepEqual(story.open(), [])
  })

  test('hands what waits on with the values that it would have read', async () => {
    const slow = new Held()
    const document = (work: NodeBody) => [node('mark', 'x', 'm', pass('x', 'm')), node('work', 'm !limit', 'y', work)]
    const story = new FlowStory(document(slow.body), { values: { limit: 0 } })
    for (const x of [1, 2]) story.gets('x', x)
    story.gets('limit', 100)
    story.gets('x', 3)
    story.deploys(document(nothing))
    slow.answers({ y: 1 })
    await story.settles()
    assert.deepEqual(starts(story, 'work'), ['work m=1 limit=0', 'work m=2 limit=0', 'work m=3 limit=100'])
    assert.deepEqual(story.open(), [])
  })

  test('hands on in order through two deploys, and the newest body runs', async () => {
    const slow = new Held()
    const story = new FlowStory(line(slow.body))
    for (const x of [1, 2]) story.gets('x', x)
    story.deploys(line(({ x }) => ({ y: `second ${x}` })))
    story.gets('x', 3)
    story.deploys(line(({ x }) => ({ y: `third ${x}` })))
    story.gets('x', 4)
    slow.answers({ y: 'first 1' })
    await story.settles()
    assert.deepEqual(story.published, ['y=first 1', 'y=third 2', 'y=third 3', 'y=third 4'])
    assert.deepEqual(story.open(), [])
  })

  test('back to what it was before is a change too, while the first body is away', async () => {
    const slow = new Held()
    const story = new FlowStory(line(slow.body))
    for (const x of [1, 2]) story.gets('x', x)
    story.deploys(line(nothing))
    story.deploys(line(slow.body))
    assert.equal(slow.calls.length, 1)
    slow.answers({ y: 1 })
    await story.settles()
    assert.deepEqual(starts(story, 'work'), ['work x=1', 'work x=2'])
    slow.answers({ y: 2 })
    await story.settles()
    assert.deepEqual(story.open(), [])
  })

  test('fails what waits at a port that is gone, counted, each cascade once', async () => {
    const slow = new Held()
    const story = new FlowStory([...line(slow.body), node('beside', 'x', '', nothing)])
    for (const x of [1, 2, 3]) story.gets('x', x)
    story.deploys([node('work', 'z', 'y', pass('z', 'y')), node('after', 'y', '', after_body)])
    slow.answers({ y: 1 })
    await story.settles()
    assert.deepEqual(story.plan_changed, ['work', 'work'])
    assert.deepEqual(story.ended.toSorted(), ['x@1 succeeded', 'x@2 failed', 'x@3 failed'])
    story.gets('z', 7)
    assert.deepEqual(starts(story, 'after'), ['after y=1', 'after y=7'])
    assert.deepEqual(story.open(), [])
  })

  test('keeps what waits at a node that got another port beside its own', async () => {
    const slow = new Held()
    const story = new FlowStory(line(slow.body), { values: { z: 'z' } })
    for (const x of [1, 2]) story.gets('x', x)
    story.deploys([node('work', 'x z', 'y', pass('x', 'y')), node('after', 'y', '', after_body)])
    slow.answers()
    await story.settles()
    assert.deepEqual(starts(story, 'work'), ['work x=1', 'work x=2 z=z'])
    assert.deepEqual(story.open(), [])
  })

  test('fails what waits at a removed node; its running body ends as it would have', async () => {
    const slow = new Held()
    const story = new FlowStory([...line(slow.body), node('beside', 'x !y', '', nothing)], { values: { y: 0 } })
    for (const x of [1, 2]) story.gets('x', x)
    story.deploys([node('after', 'y', '', after_body)])
    slow.answers({ y: 1 })
    await story.settles()
    assert.deepEqual(story.plan_changed, ['work'])
    assert.deepEqual(starts(story, 'after'), ['after y=1'])
    assert.deepEqual(starts(story, 'beside').toSorted(), ['beside x=1 y=1', 'beside x=2 y=1'])
    assert.deepEqual(story.ended.toSorted(), ['x@1 succeeded', 'x@2 failed'])
    assert.deepEqual(story.open(), [])
  })

  test('that removes a node and one that brings it back leave its executions one at a time', async () => {
    const slow = new Held()
    const story = new FlowStory(line(slow.body))
    story.gets('x', 1)
    story.deploys([node('after', 'y', '', after_body)])
    story.deploys(line(({ x }) => ({ y: `new ${x}` })))
    story.gets('x', 2)
    assert.deepEqual(starts(story, 'work'), ['work x=1'])
    slow.answers({ y: 'old 1' })
    await story.settles()
    assert.deepEqual(starts(story, 'after'), ['after y=old 1', 'after y=new 2'])
    assert.deepEqual(story.open(), [])
  })

  test('ends the generator of a changed node at its next pull, with its clean-up, and the new one takes over', () => {
    const log: string[] = []
    const ticking = (name: string) =>
      function* () {
        try {
          for (;;) yield { y: name }
        } finally {
          log.push(`${name} ended`)
        }
      }
    const story = new FlowStory(line(ticking('old')))
    story.publish('x', 1)
    assert.equal(story.turn(), true)
    const yields = story.published.length
    story.deploys(line(ticking('new')))
    story.publish('x', 2)
    story.told.length = 0
    assert.equal(story.turn(), true)
    assert.deepEqual(log, ['old ended'])
    assert.deepEqual(story.ended, ['x@1 succeeded'])
    assert.deepEqual([story.published.length, new Set(story.published)], [yields, new Set(['y=new'])])
    story.deploys([node('after', 'y', '', after_body)])
    story.runs()
    assert.deepEqual(log, ['old ended', 'new ended'])
    assert.deepEqual(story.open(), [])
  })

  test('lets the generator of an unchanged node go on', () => {
    const ticking: NodeBody = function* () {
      for (;;) yield { y: 1 }
    }
    const story = new FlowStory(line(ticking, nothing))
    story.publish('x', 1)
    story.turn()
    story.deploys(line(ticking, () => {}))
    story.told.length = 0
    story.turn()
    assert.equal(story.published.length, 256)
    assert.equal(starts(story, 'after').length, 256)
  })

  test('never has two bodies of one node inside, also when the old plan comes to it late', async () => {
    const gate = new Held()
    const [old, young] = [new Held(), new Held()]
    const document = (work: NodeBody) => [
      node('gate', 'x', 'go', gate.body),
      node('work', 'go z', 'y', work),
      node('after', 'y', '', after_body),
    ]
    const story = new FlowStory(document(old.body), { values: { go: 0, z: 0 } })
    story.gets('x', 1)
    story.deploys(document(young.body))
    story.gets('z', 5)
    assert.equal(young.calls.length, 1)
    gate.answers({ go: 1 })
    await story.settles()
    assert.equal(old.calls.length, 0, 'the cascade of the old plan waits for the new body')
    young.answers({ y: 'young' })
    await story.settles()
    assert.equal(old.calls.length, 0, 'which has run before it')
    assert.equal(young.calls.length, 1)
    story.gets('z', 6)
    assert.equal(young.calls.length, 1)
    young.answers({ y: 'young too' })
    await story.settles()
    assert.equal(young.calls.length, 1)
    young.answers({ y: 'young again' })
    await story.settles()
    assert.deepEqual(starts(story, 'work'), ['work go=0 z=5', 'work go=1 z=0', 'work go=1 z=6'])
    assert.deepEqual(story.open(), [])
  })

  test('never has two bodies of one node inside, also when one was about to begin', async () => {
    const [old, young] = [new Held(), new Held()]
    const story = new FlowStory(line(old.body))
    for (const x of [1, 2, 3]) story.gets('x', x)
    old.answers({ y: 1 })
    await new Promise(setImmediate)
    // The first one ends in a turn that ends with it: the second one has its place and has not begun.
    story.tick_ms = 1
    story.turn(0.5)
    story.tick_ms = 0
    story.deploys(line(young.body))
    story.runs()
    assert.equal(old.calls.length + young.calls.length, 1)
    for (let left = 2; left > 0; left--) {
      const inside = old.calls.length > 0 ? old : young
      inside.answers({ y: 0 })
      await story.settles()
      assert.ok(old.calls.length + young.calls.length <= 1)
    }
    assert.deepEqual(starts(story, 'work'), ['work x=1', 'work x=2', 'work x=3'])
    assert.deepEqual(story.open(), [])
  })

  test('that removes a node and one that brings it back keep to one body inside, though the old plan comes between', async () => {
    const [gate, old, young] = [new Held(), new Held(), new Held()]
    const first = node('gate', 'x', 'go', gate.body)
    const story = new FlowStory([first, node('work', 'go z', '', old.body)], { values: { go: 0, z: 0 } })
    story.gets('x', 1)
    story.deploys([first])
    gate.answers({ go: 1 })
    await story.settles()
    assert.equal(old.calls.length, 1, 'on the plan that it began with')
    story.deploys([first, node('work', 'go z', '', young.body)])
    story.gets('z', 1)
    assert.equal(young.calls.length, 0)
    old.answers()
    await story.settles()
    assert.equal(young.calls.length, 1)
    young.answers()
    await story.settles()
    assert.deepEqual(story.open(), [])
  })
})

describe('values across a deploy', () => {
  test('that a later cascade published are not read by what was handed on, nor below it', async () => {
    const slow = new Held()
    const document = (body: NodeBody) => [node('slow', 'x', 'a', body), node('read', 'a !m', '', nothing)]
    const story = new FlowStory(document(slow.body), { values: { m: 0 } })
    for (const x of [1, 2]) story.gets('x', x)
    story.gets('m', 7)
    story.deploys(document(({ x }) => ({ a: x * 10 })))
    slow.answers({ a: 1 })
    await story.settles()
    assert.deepEqual(starts(story, 'read'), ['read a=1 m=0', 'read a=20 m=0'])
    assert.deepEqual(story.open(), [])
  })

  test('of another dtype than their message has now are no values', () => {
    const document = (dtype: 'int' | 'str') => [
      node('make', 'go', 'm', ({ go }) => ({ m: go }), { dtype }),
      node('read', 'x !m', '', nothing, { dtype }),
    ]
    const story = new FlowStory(document('int'))
    story.gets('go', 1)
    story.deploys(document('str'))
    story.gets('x', 'now')
    assert.deepEqual([starts(story, 'read'), story.waited], [[], ['read']])
    story.gets('go', 'one')
    story.gets('x', 'again')
    assert.deepEqual(starts(story, 'read'), ['read x=again m=one'])
  })

  test('of another flow that were only read are there for those whom they wake now', () => {
    const document = (wakes: string) => [node('read', 'z !other.x', '', nothing), node('new', wakes, '', nothing)]
    const story = new FlowStory(document('z'), { values: { 'other.x': 1 } })
    story.gets('z', 1)
    story.deploys(document('other.x'))
    story.gets('z', 2)
    assert.deepEqual(starts(story, 'read'), ['read z=1 x=1', 'read z=2 x=1'])
  })

  test('that a cascade of the old plan brings late are seen two deploys on, though the plan between knows nothing of them', async () => {
    const slow = new Held()
    const make = node('make', 'x', 'm', slow.body)
    const read = (body = () => {}) => node('read', 'z !m', '', body)
    const story = new FlowStory([make, read()], { values: { m: 0 } })
    story.gets('x', 1)
    story.deploys([node('read', 'z', '', nothing)])
    story.deploys([make, read()])
    slow.answers({ m: 1 })
    await story.settles()
    story.gets('z', 1)
    assert.deepEqual(starts(story, 'read'), ['read z=1 m=1'])
    assert.deepEqual(story.open(), [])
  })

  test('are kept for those who read them', () => {
    const story = new FlowStory([node('a', 'x !m', '', nothing)])
    story.gets('m', 1)
    story.deploys([node('a', 'x !m', '', () => {})])
    story.gets('x', 1)
    assert.deepEqual(story.started, ['a x=1 m=1'])
  })

  test('that nobody read before are found where they were published', () => {
    const story = new FlowStory([node('make', 'x', 'm', pass('x', 'm'))])
    story.gets('x', 1)
    story.publish('other', 2)
    story.deploys([node('make', 'x', 'm', pass('x', 'm')), node('read', 'z !m !other', '', nothing)])
    story.gets('z', 1)
    assert.deepEqual(starts(story, 'read'), ['read z=1 m=1 other=2'])
  })

  test('do not run ahead of what is still queued', () => {
    const story = new FlowStory([node('a', 'x !m', '', nothing)], { values: { m: 0 } })
    story.publish('x', 1)
    story.publish('m', 1)
    story.publish('x', 2)
    story.deploys([node('a', 'x !m', '', () => {})])
    story.runs()
    assert.deepEqual(story.started, ['a x=1 m=0', 'a x=2 m=1'])
  })

  for (const between of ['knows nothing of them', 'only publishes them'])
    test(`do not run ahead of what an earlier plan left in the queue, when the plan between ${between}`, () => {
      const read = [node('a', 'x !m', '', nothing)]
      const story = new FlowStory(read, { values: { m: 0 } })
      story.publish('x', 1)
      story.publish('m', 1)
      story.publish('x', 2)
      story.deploys(between === 'only publishes them' ? [node('make', 'go', 'm', pass('go', 'm'))] : [])
      story.deploys(read)
      story.runs()
      assert.deepEqual(story.started, ['a x=1 m=0', 'a x=2 m=1'])
    })

  test('that a cascade of the old plan brings late are seen on the new plan', async () => {
    const slow = new Held()
    const make = node('make', 'x', 'm', slow.body)
    const story = new FlowStory([make, node('read', 'z !m', '', nothing)], { values: { m: 0 } })
    story.gets('x', 1)
    story.deploys([make, node('read', 'z !m', '', () => {})])
    story.deploys([make, node('read', 'z !m', '', pass('z', 'z'))])
    slow.answers({ m: 1 })
    await story.settles()
    story.gets('z', 1)
    assert.deepEqual(starts(story, 'read'), ['read z=1 m=1'])
    assert.deepEqual(story.open(), [])
  })
})

describe('bodies loaded across a deploy', () => {
  test('the new body of a changed node is loaded before what waits runs on it', async () => {
    const slow = new Held()
    const story = new FlowStory(line(slow.body), { loads_by_hand: true })
    story.loads()
    for (const x of [1, 2]) story.gets('x', x)
    story.deploys(line(({ x }) => ({ y: `new ${x}` })))
    slow.answers({ y: 'old 1' })
    await story.settles()
    assert.deepEqual(story.published, ['y=old 1'])
    story.loads()
    await story.settles()
    assert.deepEqual(story.published, ['y=old 1', 'y=new 2'])
    assert.deepEqual(story.open(), [])
  })

  test('a node that is changed while its body is being loaded keeps what waits', () => {
    const story = new FlowStory(line(pass('x', 'y')), { loads_by_hand: true })
    story.loads('after')
    for (const x of [1, 2]) story.publish('x', x)
    story.runs()
    story.deploys(line(({ x }) => ({ y: `new ${x}` })))
    story.runs()
    story.loads()
    story.runs()
    assert.deepEqual(starts(story, 'after'), ['after y=new 1', 'after y=new 2'])
    assert.deepEqual(story.open(), [])
  })
})

test('a deploy that removes a node and one that brings it back leave a body inside alone, though its wave has ended', async () => {
  const slow = new Held()
  const story = new FlowStory(line(slow.body))
  story.gets('x', 1)
  slow.emits({ y: 'first' })
  story.runs()
  story.deploys([node('after', 'y', '', after_body)])
  story.deploys(line(({ x }) => ({ y: `new ${x}` })))
  story.gets('x', 2)
  assert.deepEqual(starts(story, 'work'), ['work x=1'])
  slow.answers({ y: 'last' })
  await story.settles()
  assert.deepEqual(story.published, ['y=first', 'y=last', 'y=new 2'])
  assert.deepEqual(story.open(), [])
})

test('values that only what is queued will bring are not there yet after a deploy', () => {
  const story = new FlowStory([node('a', 'x !m', '', () => {})])
  story.publish('x', 1)
  story.publish('m', 1)
  story.publish('x', 2)
  story.deploys([node('a', 'x !m', '', () => {})])
  story.runs()
  assert.deepEqual([story.started, story.waited], [['a x=2 m=1'], ['a']])
})

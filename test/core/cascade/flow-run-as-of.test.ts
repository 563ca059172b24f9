import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { FlowStory, Held, node } from '../../kit/flow-story.ts'

const nothing = () => {}
const pass = (from: string, to: string) => (inputs: Record<string, unknown>) => ({ [to]: inputs[from] })
const starts = (story: FlowStory, id: string) => story.started.filter(line => line.split(' ')[0] === id)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

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

  // Around the number of replaced values at which the flow looks for those that nobody can read any more.
  for (const times of [1022, 1023, 1024, 1025])
    test(`stays true for a wave that has just been let in, after ${times} values`, async () => {
      const slow = new Held()
      const story = new FlowStory([node('slow', 'x', 'a', slow.body), node('read', 'a !m', '', nothing)], {
        values: { m: 0 },
      })
      for (const x of [1, 2]) story.gets('x', x)
      for (let m = 1; m <= times; m++) story.publish('m', m)
      story.runs()
      for (const a of [1, 2]) {
        slow.answers({ a })
        await story.settles()
      }
      assert.deepEqual(starts(story, 'read'), ['read a=1 m=0', 'read a=2 m=0'])
      assert.deepEqual(story.open(), [])
    })

  // 100 MB of them.
  for (const [times, length] of [
    [5_000, 20_000],
    [200, 500_000],
  ] as const)
    test(`keeps of ${times} replaced values of ${length} bytes only those that a wave may still read`, async () => {
      const slow = new Held()
      const story = new FlowStory([node('slow', 'x', 'a', slow.body), node('read', 'a !m', '', nothing)], {
        values: { m: { m: 0 } },
      })
      // Buffers are swept beside the collection, so it is asked for again when that had its time.
      const held_mb = async () => {
        for (let times = 0; times < 3; times++) {
          collectGarbage()
          await new Promise(setImmediate)
        }
        return process.memoryUsage().arrayBuffers / 2 ** 20
      }
      const before = await held_mb()
      story.gets('x', 1)
      const filling = 'x'.repeat(length)
      for (let m = 1; m <= times; m++) story.gets('m', { m, filling })
      const kept = (await held_mb()) - before
      assert.ok(kept < 50, `${kept} MB`)
      slow.answers({ a: 1 })
      await story.settles()
      assert.deepEqual(starts(story, 'read'), ['read a=1 m={"m":0}'])
      assert.deepEqual(story.open(), [])
    })
})

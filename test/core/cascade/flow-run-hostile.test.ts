import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FlowStory, type NodeBody, node } from '../../kit/flow-story.ts'

const hostile = (): never => {
  throw new Error('hostile')
}

/** An object whose property of that name, which nobody sees in a list of its own, is read by `get`. */
const withHidden = (name: string, get: () => unknown): object => Object.create(null, { [name]: { get } })

const bodies: Record<string, NodeBody> = {
  'an output whose getter throws': () => Object.defineProperty({}, 'y', { enumerable: true, get: hostile }),
  'a value with a getter that throws': () => ({
    y: Object.defineProperty({}, 'deep', { enumerable: true, get: hostile }),
  }),
  'a value whose toJSON throws': () => ({ y: { toJSON: hostile, deep: hostile } }),
  'a proxy that throws at everything': () =>
    new Proxy({}, { get: hostile, has: hostile, ownKeys: hostile, getOwnPropertyDescriptor: hostile }),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  'a promise whose then is a getter that throws': () => withHidden('then', hostile),
  'a promise whose then throws': () => withHidden('then', () => hostile),
  'an iterator whose next is a getter that throws': () => withHidden('next', hostile),
  'an iterator whose step is undefined': () => withHidden('next', () => () => undefined),
  'an iterator whose step throws when it is read': () =>
    withHidden('next', () => () => Object.defineProperty({}, 'done', { get: hostile })),
  'an iterator whose step is a promise that throws': () =>
    withHidden('next', () => () => withHidden('then', () => hostile)),
  'an iterator whose step comes later and is nothing': () => withHidden('next', () => async () => undefined),
  'an iterator whose step comes later and throws when it is read': () =>
    withHidden('next', () => async () => Object.defineProperty({}, 'done', { get: hostile })),
  'an output that emits while it is read': (_, ctx) =>
    Object.defineProperty({}, 'y', {
      enumerable: true,
      get: () => {
        ctx.emit({ y: 1 })
        return 2
      },
    }),
}

describe('a body that answers', () => {
  for (const [what, body] of Object.entries(bodies))
    test(`${what} has failed, and costs nobody else anything`, async () => {
      const story = new FlowStory(
        [
          node('bad', 'x', 'y', body),
          node('good', 'x', 'z', ({ x }) => ({ z: x })),
          node('join', 'x !y', '', () => {}),
        ],
        { values: { y: 0 } },
      )
      for (const x of [1, 2]) story.publish('x', x)
      await story.settles()
      assert.deepEqual(
        story.failures.map(line => line.split(' ')[0]),
        ['bad', 'bad'],
      )
      assert.deepEqual(story.published, ['z=1', 'z=2'])
      assert.deepEqual(
        story.started.filter(line => line.startsWith('join')),
        ['join x=1 y=0', 'join x=2 y=0'],
      )
      assert.deepEqual(story.ended.toSorted(), ['x@1 failed', 'x@2 failed'])
      assert.deepEqual(story.open(), [])
    })

  test('a promise that answers twice has answered once', async () => {
    const body = () =>
      withHidden('then', () => (resolve: (value: object) => void) => {
        resolve({ y: 1 })
        resolve({ y: 2 })
      })
    const story = new FlowStory([node('bad', 'x', 'y', body)])
    story.publish('x', 1)
    await story.settles()
    assert.deepEqual([story.published, story.ended], [['y=1'], ['x@1 succeeded']])
    assert.deepEqual(story.open(), [])
  })

  test('a promise that throws after it has answered has answered', async () => {
    const body = () =>
      withHidden('then', () => (resolve: (value: object) => void) => {
        resolve({ y: 1 })
        hostile()
      })
    const story = new FlowStory([node('bad', 'x', 'y', body)])
    story.publish('x', 1)
    await story.settles()
    assert.deepEqual([story.published, story.failures], [['y=1'], []])
    assert.deepEqual(story.open(), [])
  })

  test('a generator whose clean-up throws, or yields once more, is told to end and has ended', () => {
    for (const cleanUp of [
      hostile,
      function* () {
        yield { y: 3 }
      },
    ]) {
      const story = new FlowStory([
        node('bad', 'x', 'y', function* () {
          try {
            yield { other: 1 }
          } finally {
            const more = cleanUp()
            if (more !== undefined) yield* more
          }
        }),
      ])
      story.gets('x', 1)
      assert.deepEqual([story.failures, story.published], [['bad undeclared_key'], []])
      assert.deepEqual(story.open(), [])
    }
  })
})

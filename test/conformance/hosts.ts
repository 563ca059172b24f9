import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

// biome-ignore lint/suspicious/noExplicitAny: what the inputs are is the story's business
type StoryBody = (inputs: any, ctx: { emit(outputs: unknown): unknown }) => unknown

export interface StoryNode {
  readonly id: string
  /** Messages, each the name of its port, too; `!` marks a read without trigger. */
  readonly reads: string
  readonly makes: string
  /** Its text is the source of the body, so it stands for itself. */
  readonly body: StoryBody
}

/** All values are JSON. */
export interface HostStory {
  readonly words: string
  readonly nodes: readonly StoryNode[]
  /** What the nodes read and none of them makes. */
  readonly inputs: readonly string[]
  readonly publishes: readonly (readonly [message: string, value: unknown])[]
  /** Every value of each message, in order. */
  readonly values: Readonly<Record<string, readonly unknown[]>>
  /** Nodes of which an execution fails. */
  readonly failed?: readonly string[]
}

const node = (id: string, reads: string, makes: string, body: StoryBody): StoryNode => ({ id, reads, makes, body })

/** What a flow does with the same nodes and the same values, whoever runs it: `core/cascade` decides, the host lends. */
export const HOST_STORIES: readonly HostStory[] = [
  {
    words: 'a node that several branches lead to runs once, after all of them',
    nodes: [
      node('double', 'x', 'd', ({ x }) => ({ d: x * 2 })),
      node('square', 'x', 's', ({ x }) => ({ s: x * x })),
      node('sum', 'd s', 'y', ({ d, s }) => ({ y: d + s })),
    ],
    inputs: ['x'],
    publishes: [
      ['x', 1],
      ['x', 2],
      ['x', 3],
    ],
    values: { d: [2, 4, 6], s: [1, 4, 9], y: [3, 8, 15] },
  },
  {
    words: 'a branch that publishes nothing holds nobody up, and wakes nobody',
    nodes: [
      node('odd', 'x', 'o', ({ x }) => (x % 2 === 1 ? { o: x } : {})),
      node('all', 'x', 'a', ({ x }) => ({ a: x })),
      node('read', 'o', 'y', ({ o }) => ({ y: o })),
      node('both', 'a !o', 'z', ({ a, o }) => ({ z: [a, o] })),
    ],
    inputs: ['x'],
    publishes: [
      ['x', 1],
      ['x', 2],
      ['x', 3],
    ],
    values: {
      y: [1, 3],
      z: [
        [1, 1],
        [2, 1],
        [3, 3],
      ],
    },
  },
  {
    words: 'each emission is a wave of its own, and every reader gets every one of them in order',
    nodes: [
      node('count', 'n', 'i', function* ({ n }) {
        for (let i = 0; i < n; i++) yield { i }
      }),
      node('more', 'i', 'm', ({ i }, ctx) => {
        ctx.emit({ m: i })
        ctx.emit({ m: i + 0.25 })
        return { m: i + 0.5 }
      }),
      node('pair', 'i m', 'p', ({ i, m }) => ({ p: `${i}/${m}` })),
    ],
    inputs: ['n'],
    publishes: [['n', 2]],
    values: {
      i: [0, 1],
      m: [0, 0.25, 0.5, 1, 1.25, 1.5],
      p: ['0/0', '0/0.25', '0/0.5', '1/1', '1/1.25', '1/1.5'],
    },
  },
  {
    words: 'what goes back round a loop ends when a body publishes nothing',
    nodes: [
      node('step', 'x', 'n', ({ x }) => ({ n: x - 1 })),
      node('again', 'n', 'x', ({ n }) => (n > 0 ? { x: n } : {})),
    ],
    inputs: [],
    publishes: [['x', 3]],
    values: { n: [2, 1, 0] },
  },
  {
    words: 'an execution that fails publishes nothing, and other branches go on',
    nodes: [
      node('good', 'x', 'g', ({ x }) => ({ g: x })),
      node('bad', 'x', 'b', ({ x }) => {
        if (x === 1) throw new Error('it failed')
        return { b: x }
      }),
      node('join', 'g b', 'j', ({ g, b }) => ({ j: g + b })),
    ],
    inputs: ['x'],
    publishes: [
      ['x', 2],
      ['x', 1],
    ],
    values: { g: [2, 1], b: [2], j: [4, 3] },
    failed: ['bad'],
  },
  {
    words: 'a key that no port declares is an error, and nothing of that answer is published',
    nodes: [node('bad', 'x', 'a', ({ x }) => ({ a: x, other: x })), node('fine', 'x', 'f', ({ x }) => ({ f: x }))],
    inputs: ['x'],
    publishes: [['x', 1]],
    values: { f: [1] },
    failed: ['bad'],
  },
  {
    words: 'bodies that are awaited keep the order of their inputs, and their joins see one wave',
    nodes: [
      node('later', 'x', 'l', async ({ x }) => {
        for (let turns = 3 - x; turns > 0; turns--) await null
        return { l: x * 10 }
      }),
      node('join', 'x l', 'j', ({ x, l }) => ({ j: [x, l] })),
    ],
    inputs: ['x'],
    publishes: [
      ['x', 1],
      ['x', 2],
      ['x', 3],
    ],
    values: {
      l: [10, 20, 30],
      j: [
        [1, 10],
        [2, 20],
        [3, 30],
      ],
    },
  },
  {
    words: 'an asynchronous generator gives each of its values to its readers before the next',
    nodes: [
      node('slow', 'n', 'i', async function* ({ n }) {
        for (let i = 0; i < n; i++) {
          await null
          yield { i }
        }
      }),
      node('read', 'i', 'y', ({ i }) => ({ y: i + 1 })),
    ],
    inputs: ['n'],
    publishes: [['n', 3]],
    values: { i: [0, 1, 2], y: [1, 2, 3] },
  },
]

export interface HostRun {
  /** Of each message that the nodes make. */
  readonly values: Readonly<Record<string, readonly unknown[]>>
  /** Ids of nodes of which an execution failed. */
  readonly failed: readonly string[]
}

export interface HostKind {
  /** `last`: a batch run, which is given one value of each input and answers the last value of each message. */
  readonly tells: 'all' | 'last'
  run(story: HostStory, name: string): Promise<HostRun>
}

export function hostStories(kind: string, host: HostKind): void {
  describe(`a flow on ${kind}`, () => {
    for (const [at, story] of HOST_STORIES.entries()) {
      // A batch run has one value of each input, and nothing else is given.
      const isRun = story.publishes.length === 1 && story.inputs.includes(story.publishes[0]![0])
      if (host.tells === 'last' && !isRun) continue
      test(story.words, async () => {
        const { values, failed } = await host.run(story, `story${at}`)
        for (const [message, expected] of Object.entries(story.values)) {
          const found = values[message] ?? []
          assert.deepEqual(
            host.tells === 'all' ? found : found.slice(-1),
            host.tells === 'all' ? expected : expected.slice(-1),
            message,
          )
        }
        assert.deepEqual([...failed].sort(), [...(story.failed ?? [])].sort())
      })
    }
  })
}

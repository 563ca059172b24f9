import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DATABASE_FILE } from '../../../../protocol/installation.ts'
import type { FlowNode } from '../../../../protocol/nouns/flow-document.ts'
import { node } from '../../../kit/flow-story.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { SteppedEngine, SteppedGraph, type Traces } from '../../../kit/stepped-engine.ts'
import type { SteppedBody } from '../../../kit/stepped-lane.ts'
import { temporaryDirectory } from '../../../kit/stored.ts'

const GRAPHS = Number(process.env['ROUNDS'] ?? (process.env['LONG'] ? 40 : 3))
const VALUES = 12
const DTYPE = { dtype: 'int' as const }
const MASK = 0xff_ffff

const mix = (a: number, b: number): number => Math.imul(a ^ (b + 0x9e37), 0x85eb_ca6b) >>> 3

type State = { n?: number; h?: number }

/** Ports are named as their messages: of `a.m0` and `m0` one stays. */
const withoutTwins = (reads: readonly string[]): string[] => [
  ...new Map(reads.map(message => [message.slice(message.indexOf('.') + 1), message])).values(),
]

/** Counts, mixes what it reads into its state, and says which of its ports it emits by that; sometimes it fails instead. */
const mixing =
  (ports: readonly string[]): SteppedBody =>
  (inputs, state: State) => {
    state.n = (state.n ?? 0) + 1
    state.h = Object.values(inputs).reduce<number>((h, value) => mix(h, value as number), state.h ?? 7)
    if (state.h % 19 === 0) throw new Error('by chance')
    const outputs = Object.fromEntries(
      ports.flatMap((port, at) => ((state.h! >>> (at + 3)) % 4 === 0 ? [] : [[port, (state.h! + at) & MASK]])),
    )
    return Object.keys(outputs).length > 0 ? outputs : undefined
  }

/** Yields none to three values, and keeps its state between them. */
const yielding = (port: string): SteppedBody =>
  function* (inputs, state: State) {
    for (let left = (Object.values(inputs)[0] as number) % 4; left > 0; left--) {
      state.n = (state.n ?? 0) + 1
      yield { [port]: (state.n * 1000 + left) & MASK }
    }
  }

/** Emits what it reads twice: as it is, and through a port with a rate limit. */
const doubling: SteppedBody = (_inputs, state: State) => {
  state.n = (state.n ?? 0) + 1
  return { all: state.n, slow: state.n }
}

/**
 * `a` has the values from outside, joins, reads without trigger and a port with a rate limit. `b` reads several of its messages, also
 * those of one emission together, `c` those of `b`; `y` has a generator, which `g` reads, and `d` reads the limited port. So in which
 * order each flow gets its items does not depend on which lane is how far, but for what the limit lets through.
 */
function graphOf(random: () => number): SteppedGraph {
  const bodies = new Map<string, SteppedBody>()
  const below = (end: number): number => Math.floor(random() * end)
  const some = (from: readonly string[], most: number): string[] => [
    ...new Set(Array.from({ length: 1 + below(most) }, () => from[below(from.length)]!)),
  ]
  const flow = (name: string, sources: readonly string[], count: number): { nodes: FlowNode[]; made: string[] } => {
    const made: string[] = []
    const nodes = Array.from({ length: count }, (_, at) => {
      // The first reads what comes from outside, so that everything wakes something.
      const reads = at === 0 ? [...sources] : withoutTwins(some([...sources, ...made, ...made], 3))
      const words = reads.map((message, place) =>
        place > 0 && !message.includes('.') && random() < 0.3 ? `!${message}` : message,
      )
      const makes = [`m${at}`, ...(random() < 0.5 ? [`o${at}`] : [])]
      made.push(...makes)
      bodies.set(`${name}.n${at}`, mixing(makes))
      return node(`n${at}`, words.join(' '), makes.join(' '), () => at, DTYPE)
    })
    return { nodes, made }
  }
  const a = flow('a', ['in0', 'in1'], 3 + below(3))
  bodies.set('y.gen', yielding('many'))
  bodies.set('a.two', doubling)
  const two = node('two', random() < 0.5 ? 'in1' : 'm0', 'all slow', () => 'two', DTYPE)
  two.ports!.outputs!.find(port => port.name === 'slow')!.rate_hz = 400
  // Early in its cascades, so that the timer may look while the rest of one is still to be run.
  a.nodes.unshift(two)
  const y = node('gen', 'a.m0', 'many', () => 'gen', DTYPE)
  const b = flow(
    'b',
    some(a.made, 4).map(message => `a.${message}`),
    2 + below(2),
  )
  const c = flow(
    'c',
    some(b.made, 2).map(message => `b.${message}`),
    1 + below(2),
  )
  const g = flow('g', ['y.many'], 1)
  const d = flow('d', ['a.slow'], 1)
  return new SteppedGraph(
    [
      { name: 'a', nodes: a.nodes, reachable: ['b', 'c', 'd', 'g', 'y'] },
      { name: 'b', nodes: b.nodes, reachable: ['c'] },
      { name: 'c', nodes: c.nodes, reachable: [] },
      { name: 'd', nodes: d.nodes, reachable: [] },
      { name: 'g', nodes: g.nodes, reachable: [] },
      { name: 'y', nodes: [y], reachable: ['g'] },
    ],
    bodies,
  )
}

type Script = readonly (readonly [message: string, value: number])[]

/** One engine from its start to its end, or until `onMark` throws. */
function runs(engine: SteppedEngine, script: Script, random: () => number, time: { ms: number }): void {
  for (let at = engine.version('a.in0') + engine.version('a.in1'); at < script.length; ) {
    if (random() < 0.2) {
      time.ms += random()
      engine.publish(...script[at++]!)
    } else engine.step()
  }
  engine.idle()
}

const ofLimited = (name: string): boolean => name === 'a.slow' || name.startsWith('d.')

/** What does not depend on the clock. */
const fixed = ({ history, states, cascades }: Traces): Traces => ({
  history: Object.fromEntries(Object.entries(history).filter(([name]) => !ofLimited(name))),
  states: Object.fromEntries(Object.entries(states).filter(([name]) => !ofLimited(name))),
  cascades: cascades.filter(line => !line.startsWith('d ') && !line.includes('a.slow')),
})

function holds(traces: Traces, expected: Traces, what: string): void {
  assert.deepEqual(fixed(traces), fixed(expected), what)
  for (const [name, points] of Object.entries(traces.history))
    assert.deepEqual(
      points.map(([version]) => version),
      points.map((_, at) => at + 1),
      `${what}: versions of ${name}`,
    )
  // The limit lets some of them through, in their order, and the newest in the end; what comes through is run once.
  const slow = traces.history['a.slow']!.map(([, value]) => value)
  const all = traces.history['a.all']!.map(([, value]) => value)
  assert.deepEqual(
    slow,
    [...new Set(slow)].sort((one, other) => one - other),
    `${what}: limited values`,
  )
  assert.equal(slow.at(-1), all.at(-1), `${what}: the newest of the limited values`)
  const state = {}
  const body = mixing(
    Object.keys(traces.history)
      .filter(name => name.startsWith('d.'))
      .map(name => name.slice(2)),
  )
  for (const value of slow) {
    try {
      body({ slow: value }, state)
    } catch {
      // It fails the same way each time.
    }
  }
  assert.deepEqual(traces.states['d.n0'] ?? {}, state, `${what}: what the limit let through`)
}

test(`an engine that crashes at any mark ends as one that never did (seed ${seed})`, t => {
  let marks = 0
  for (let round = 0; round < GRAPHS; round++) {
    const from = seed + round * 1000
    const graph = graphOf(randomFrom(from))
    const draw = randomFrom(from + 1)
    const script: Script = Array.from({ length: VALUES }, () => [
      draw() < 0.5 ? 'a.in0' : 'a.in1',
      Math.floor(draw() * MASK),
    ])
    // Never killed, twice: how the lanes take turns does not change what comes out.
    const images: Buffer[] = []
    let expected: Traces | null = null
    for (const schedule of [2, 3]) {
      const random = randomFrom(from + schedule)
      const time = { ms: 0, origin_us: 1.7e15 }
      const data_dir = temporaryDirectory(t)
      const engine = new SteppedEngine(data_dir, graph, time, random)
      engine.onMark = () => {
        if (schedule === 2) return
        engine.drain()
        engine.commit()
        images.push(engine.image())
      }
      runs(engine, script, random, time)
      const traces = engine.traces()
      engine.crash()
      expected ??= traces
      holds(traces, expected, `graph ${round}, never killed`)
    }
    marks += images.length
    for (const [at, image] of images.entries()) {
      let what = `graph ${round}, crashed at mark ${at}`
      let left = image
      const random = randomFrom(from + 10 + at)
      // Some crash again, at a later mark.
      let again = random() < 0.3 ? 1 + Math.floor(random() * 20) : 0
      const time = { ms: 1000, origin_us: 1.7e15 }
      for (; ; time.ms += 1000) {
        const data_dir = temporaryDirectory(t)
        writeFileSync(join(data_dir, DATABASE_FILE), left)
        const engine = new SteppedEngine(data_dir, graph, time, random)
        assert.deepEqual(engine.dropped, [], what)
        let crashed: Buffer | null = null
        engine.onMark = () => {
          if (--again !== 0) return
          engine.drain()
          engine.commit()
          crashed = engine.image()
          throw new Crash()
        }
        try {
          runs(engine, script, random, time)
          const traces = engine.traces()
          engine.crash()
          holds(traces, expected!, what)
          break
        } catch (error) {
          if (!(error instanceof Crash)) throw error
          engine.crash()
          left = crashed!
          what += ', and again'
        }
      }
    }
  }
  t.diagnostic(`${GRAPHS} graphs, ${marks} marks`)
  assert.ok(marks > GRAPHS * VALUES)
})

class Crash extends Error {}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Execution } from '../../../core/cascade/seat.ts'
import { limits } from '../../../protocol/limits.ts'
import type { FlowNode } from '../../../protocol/nouns/flow-document.ts'
import { type Context, FlowStory, isFollowed, type NodeBody, node } from '../../kit/flow-story.ts'
import { seed } from '../../kit/random.ts'
import { Chance } from './kit/random-flow.ts'

const LONG = process.env['LONG'] !== undefined
/** Far more turns than any of these stories needs. */
const TURNS = 400_000

test(`in a flow of any shape, with any bound, every accepted item ends and the flow comes to rest (SEED=${seed})`, async t => {
  const met = new Map<string, number>()
  const meet = (what: string, times = 1) => met.set(what, (met.get(what) ?? 0) + times)
  for (let round = 0; round < Number(process.env['ROUNDS'] ?? (LONG ? 20_000 : 400)); round++)
    await comesToRest(seed + round, meet)
  t.diagnostic(JSON.stringify(Object.fromEntries(met)))
})

/** How a body of the node goes about what it emits. */
const KINDS = ['sync', 'burst', 'async', 'flood', 'generator', 'async generator', 'call', 'async reader'] as const
type Kind = (typeof KINDS)[number]

interface Part {
  readonly kind: Kind
  /** Emissions of one execution. */
  readonly emissions: number
  /** Executions of the node that emit; those after them are silent. Endless loops are broken by the engine. */
  readonly loud: number
}

/** Emissions of all bodies together, and how many they may be: silent bodies end what would go on for too long. */
interface Total {
  made: number
  readonly most: number
  /** Of the longest text that is published; 0: all values are numbers. */
  readonly characters: number
}

/** Mostly short ones. */
const sized = (chance: Chance, number: number, characters: number): number | string =>
  characters > 0 && chance.happens(0.5) ? 'x'.repeat(chance.below(chance.pick([2, characters]) + 1)) : number

/** Waits until the story lets one of those who wait go on. */
class Pauses {
  readonly #waiting: (() => void)[] = []

  pause(): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  release(chance: Chance): void {
    if (this.#waiting.length > 0) this.#waiting.splice(chance.below(this.#waiting.length), 1)[0]!()
  }

  get size(): number {
    return this.#waiting.length
  }
}

function bodyOf(part: Part, outputs: readonly string[], chance: Chance, pauses: Pauses, total: Total): NodeBody {
  let executions = 0
  const emission = () => {
    const made = ++total.made
    const some = outputs.filter(() => chance.happens(0.8))
    return Object.fromEntries(
      (some.length > 0 ? some : outputs.slice(0, 1)).map(name => [name, sized(chance, made, total.characters)]),
    )
  }
  const times = () => (++executions > part.loud || outputs.length === 0 || total.made > total.most ? 0 : part.emissions)
  const wait = () => (chance.happens(0.5) ? pauses.pause() : Promise.resolve())
  const bodies: Record<Kind, NodeBody> = {
    sync: () => (times() > 0 ? emission() : undefined),
    burst: (_, ctx: Context) => {
      for (let left = times(); left > 0; left--) ctx.emit(emission()).catch(() => {})
    },
    async: async (_, ctx: Context) => {
      for (let left = times(); left > 0; left--) {
        await wait()
        await ctx.emit(emission())
      }
    },
    flood: async (_, ctx: Context) => {
      for (let left = times(); left > 0; left--) {
        if (chance.happens(0.1)) await wait()
        ctx.emit(emission())
      }
      await wait()
    },
    generator: function* () {
      for (let left = times(); left > 0; left--) yield emission()
    },
    'async generator': async function* () {
      for (let left = times(); left > 0; left--) {
        await wait()
        yield emission()
      }
    },
    call: () => undefined,
    'async reader': async () => {
      await wait()
      return times() > 0 ? emission() : undefined
    },
  }
  return bodies[part.kind]
}

interface Making {
  readonly chance: Chance
  readonly pauses: Pauses
  readonly parts: Map<string, Part>
  readonly total: Total
  readonly count: number
  readonly loops: boolean
}

function randomNode({ chance, pauses, parts, total, count, loops }: Making, at: number): FlowNode {
  const made = Array.from({ length: count }, (_, other) => [`m${other}a`, `m${other}b`]).flat()
  const before = made.slice(0, at * 2)
  const reads = new Set<string>()
  for (let left = chance.pick([1, 1, 1, 2, 2, 3]); left > 0; left--)
    reads.add(chance.pick(loops ? ['in0', 'in1', ...made] : ['in0', 'in1', 'in2', ...before, ...before]))
  const words = [...reads].map((name, place) => (place > 0 && chance.happens(0.2) ? `!${name}` : name))
  const makes = [`m${at}a`, `m${at}b`].filter((_, place) => place === 0 || chance.happens(0.5))
  const kind = chance.pick(KINDS)
  const part: Part = {
    kind,
    emissions: 1 + chance.below(chance.pick([3, 3, 8, 40])),
    loud: chance.happens(loops ? 0.08 : 0.5) ? Number.POSITIVE_INFINITY : chance.pick([5, 20]),
  }
  parts.set(`n${at}`, part)
  const body = bodyOf(part, makes, chance, pauses, total)
  const more = kind === 'call' ? { timeout: 5 } : {}
  const rate = chance.happens(0.1) ? { rate_hz: 10 } : {}
  return node(`n${at}`, words.join(' '), makes.join(' '), body, { dtype: 'json', ...more, ...rate })
}

async function comesToRest(start: number, meet: (what: string, times?: number) => void): Promise<void> {
  const chance = new Chance(start)
  const pauses = new Pauses()
  const parts = new Map<string, Part>()
  const characters = chance.pick([0, 0, 10, 100, 2_000])
  const total = { made: 0, most: chance.happens(0.05) ? 30_000 : 1_500, characters }
  const count = 1 + chance.below(7)
  const making: Making = { chance, pauses, parts, total, count, loops: chance.happens(0.35) }
  const nodes = Array.from({ length: count }, (_, at) => randomNode(making, at))
  const meddles = chance.happens(0.4)
  const bound = chance.pick([1, 1, 2, 3, 5, 10, 50, 10_000])
  const bytes = chance.happens(0.5)
    ? limits.FLOW_WAITING_BYTES
    : 1 + chance.below(chance.pick([10, 100, 1_000, 10_000]))
  const values = Object.fromEntries(['in0', 'in1', 'in2'].map(name => [name, 0]))
  for (const { ports } of nodes) for (const { name } of ports.outputs ?? []) values[name] = 0
  const story = new FlowStory(nodes, { values, bounds: { items: bound, bytes } })
  story.max_in_flight = chance.pick([1, 3, 20])
  story.tick_ms = 1
  for (const { ports } of nodes)
    for (const { name } of ports.outputs ?? []) if (chance.happens(0.03)) story.resting_ports.add(name)

  /** Emissions that the present call of a node may still make, by execution. */
  const calls = new Map<object, { left: number; may: boolean }>()
  const callGoesOn = (execution: Execution | undefined) => {
    if (execution === undefined) return
    const { id } = execution.seat.node
    if (story.calls.find(call => call.seat.node.id === id) !== execution) return
    // A body that is told to end, ends.
    if (execution.ended) return story.callReturns(id)
    const part = parts.get(id)!
    const [output] = execution.seat.node.outputs
    const call = calls.get(execution) ?? { left: total.made > total.most ? 0 : part.emissions, may: true }
    calls.set(execution, call)
    // It goes on when it is told that its last emission has run.
    if (!call.may) return
    if (call.left-- <= 0) return story.callReturns(id)
    call.may = false
    story.callEmits(id, { [output!.port]: sized(chance, ++total.made, characters) }, () => {
      call.may = true
    })
  }

  let most = 0
  let most_bytes = 0
  let turns = 0
  const look = () => {
    most = Math.max(most, story.flow.inner)
    most_bytes = Math.max(most_bytes, story.flow.control.bytes)
  }
  const turn = () => {
    story.turn(1 + chance.below(12))
    look()
    assert.ok(++turns < TURNS, `seed ${start}: it goes on for ever`)
  }
  let accepted = 0
  let deploys = 0
  const publish = (number: number) => {
    const value = sized(chance, number, characters)
    const name = chance.pick(['in0', 'in1', 'in2'])
    if (isFollowed(story.plan, story.indexOf(name))) accepted++
    story.publish(name, value)
  }
  const meddle = () => {
    const what = chance.pick(['purge', 'stop', 'deploy'] as const)
    meet(what)
    if (what === 'purge') story.purges()
    else if (what === 'stop') story.stops()
    else {
      deploys++
      const at = chance.below(count)
      nodes[at] = randomNode(making, at)
      story.deploys(nodes)
    }
  }
  for (let steps = 20 + chance.below(80); steps > 0; steps--) {
    const choice = chance.below(100)
    if (meddles && chance.happens(0.06)) meddle()
    if (choice < 35) publish(steps)
    else if (choice < 65) turn()
    else if (choice < 80) pauses.release(chance)
    else if (choice < 90) callGoesOn(story.calls[chance.below(story.calls.length)])
    else await new Promise(setImmediate)
  }
  let more = true
  for (let idle = 0; idle < 3; ) {
    const before = [turns, story.told.length, pauses.size].join()
    more ||= story.wanted || story.queued > 0
    for (let left = 50; more && left > 0; left--) {
      more = story.turn(1 + chance.below(12)) || story.wanted
      look()
      assert.ok(++turns < TURNS, `seed ${start}: it goes on for ever`)
    }
    while (pauses.size > 0) pauses.release(chance)
    for (const call of [...story.calls]) callGoesOn(call)
    await new Promise(setImmediate)
    if (more || story.wanted || pauses.size > 0 || before !== [turns, story.told.length, pauses.size].join()) idle = 0
    else idle++
  }
  assert.deepEqual(story.open(), [], `seed ${start}: bound ${bound}, ${JSON.stringify([...parts.values()])}`)
  assert.equal(story.begun + story.purged_items, accepted, `seed ${start}: accepted = begun + dropped by a purge`)
  // A wave waits once before each node at most. Waves: as many as the hard bound (loops and rings end there), one of each
  // cascade in flight, one emission that each node may add to a full flow, and the wave that each body away holds. A deploy
  // replaces one node: who waits there goes on in a wave of its own. `inner` also counts one result, or one generator between
  // two pulls, of each node.
  const hard = bound * limits.FLOW_WAITING_HARD_FACTOR
  const waves = (hard + story.max_in_flight + 2 * nodes.length) * 2 ** deploys
  const all = nodes.length * waves + nodes.length
  assert.ok(most <= all, `seed ${start}: ${most} waited at once, more than ${all}`)
  const hard_bytes = bytes * limits.FLOW_WAITING_HARD_FACTOR
  // Of the values of one wave: an item, and what each node publishes once.
  const largest = (1 + 2 * nodes.length) * Math.max(8, characters + 8)
  const all_bytes = hard_bytes + largest * (story.max_in_flight + 2 * nodes.length) * 2 ** deploys
  assert.ok(most_bytes <= all_bytes, `seed ${start}: ${most_bytes} bytes at once, more than ${all_bytes}`)
  if (most_bytes >= bytes) meet('flows full of bytes')
  if (most_bytes >= hard_bytes) meet('flows at the hard bound of bytes')
  meet('cascades', story.begun)
  meet('executions', story.started.length)
  meet('broken loops', story.cycles.length)
  meet('purged', story.purged_items + story.purged_executions)
  meet('interrupted', story.interrupted)
  meet('failures', story.failures.length)
  if (most >= bound) meet('full flows')
  for (const failure of story.failures) meet(failure.split(' ')[1]!)
  if (most >= hard) meet('flows at the hard bound')
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Execution } from '../../../core/cascade/seat.ts'
import type { FlowNode } from '../../../protocol/nouns/flow-document.ts'
import { type Context, FlowStory, isFollowed, type NodeBody, node } from '../../kit/flow-story.ts'
import { seed } from '../../kit/random.ts'
import { FlowWitness } from './kit/flow-witness.ts'
import {
  before,
  Chance,
  endOf,
  OUTSIDE,
  outputsOf,
  produced,
  RandomFlow,
  type Script,
  scriptOf,
} from './kit/random-flow.ts'
import { WaveModel } from './kit/wave-model.ts'

const LONG = process.env['LONG'] !== undefined

test(`bodies that never go away run as the model says, one by one and with the same inputs (SEED=${seed})`, t => {
  const met = new Map<string, number>()
  for (let round = 0; round < (LONG ? 20_000 : 300); round++)
    agrees(seed + round, (what, times) => met.set(what, (met.get(what) ?? 0) + times))
  t.diagnostic(JSON.stringify(Object.fromEntries(met)))
})

function agrees(start: number, meet: (what: string, times: number) => void): void {
  const chance = new Chance(start)
  const count = 1 + chance.below(8)
  const nth = new Map<string, number>()
  const script = (id: string, ports: readonly string[], at: number) => scriptOf(start, id, ports, at)
  const body =
    (node: () => FlowNode): NodeBody =>
    (_inputs, ctx) => {
      const { id, ports } = node()
      const at = nth.get(id) ?? 0
      nth.set(id, at + 1)
      const names = ports.outputs!.map(port => port.name)
      const played = script(id, names, at)
      for (let emission = 0; emission < before(played); emission++) ctx.emit(outputsOf(played, id, at, emission))
      return endOf(played, id, names, at)
    }
  const flow = new RandomFlow(chance, count, body)
  const messages = [...OUTSIDE, ...OUTSIDE, ...produced(count)]
  const values = Object.fromEntries(messages.filter(() => chance.happens(0.6)).map(name => [name, `${name}@0`]))
  const story = new FlowStory(flow.nodes, { values })
  const table = new Map(Object.entries(values).map(([name, value]) => [story.indexOf(name), value as unknown]))
  const model = new WaveModel(story.plan, table, script)
  story.tick_ms = 1

  const compare = () => {
    model.reach(story.begun, story.told.length, story.waited.length)
    assert.deepEqual(story.told, model.told, `seed ${start}`)
    assert.equal(story.begun, model.begun, `seed ${start}`)
  }
  for (let steps = 10 + chance.below(60); steps > 0; steps--) {
    const choice = chance.below(100)
    if (choice < 45) {
      const name = chance.pick(messages)
      const value = `${name}!${steps}`
      story.publish(name, value)
      model.publish(story.indexOf(name), value)
    } else if (choice < 90) {
      story.turn(1 + chance.below(6))
      compare()
    } else if (choice < 95) {
      story.runs()
      compare()
    } else {
      flow.change()
      story.deploys(flow.nodes)
      model.deploy(story.plan)
      meet('deploys', 1)
    }
  }
  story.runs()
  model.finish()
  compare()
  assert.deepEqual(story.waited, model.waited, `seed ${start}`)
  assert.deepEqual(story.open(), [], `seed ${start}`)
  assert.equal(story.ended.length, model.begun)
  meet('cascades', story.begun)
  meet('executions', story.started.length)
  meet('publishes', story.published.length)
  meet('failures', story.failures.length)
  meet('waited', story.waited.length)
}

test(`bodies that go away keep every rule, however they come back (SEED=${seed})`, async t => {
  const met = new Map<string, number>()
  for (let round = 0; round < (LONG ? 8_000 : 250); round++)
    await holds(seed + round, (what, times) => met.set(what, (met.get(what) ?? 0) + times))
  t.diagnostic(JSON.stringify(Object.fromEntries(met)))
})

const nothing = () => {}

/** Bodies that are held up at some points until they are let on. */
class Pauses {
  readonly #waiting: (() => void)[] = []

  pause(): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  /** One of them goes on. */
  release(chance: Chance): void {
    if (this.#waiting.length > 0) this.#waiting.splice(chance.below(this.#waiting.length), 1)[0]!()
  }

  get size(): number {
    return this.#waiting.length
  }
}

async function holds(start: number, meet: (what: string, times: number) => void): Promise<void> {
  const chance = new Chance(start)
  const count = 1 + chance.below(6)
  const messages = [...OUTSIDE, ...produced(count)]
  const values = Object.fromEntries(messages.map(name => [name, `${name}@0`]))
  const witness = new FlowWitness(values)
  const pauses = new Pauses()
  const nth = new Map<string, number>()
  /** What is started, for the body that is called right after. */
  let present = { execution: null as unknown as Execution, name: '', id: '', at: 0 }
  const calls = new Map<Execution, { id: string; at: number; emission: number; leave: () => void }>()

  const body =
    (node: () => FlowNode): NodeBody =>
    (_inputs, ctx) => {
      const { execution, id, at } = present
      const ports = node().ports.outputs!.map(port => port.name)
      const script = scriptOf(start, id, ports, at)
      const style = new Chance(start + at * 31 + Number(id.slice(1)))
      return plays({ script, id, ports, at, ctx, execution }, style)
    }

  type Play = { script: Script; id: string; ports: string[]; at: number; ctx: Context; execution: Execution }
  const plays = (play: Play, style: Chance): unknown => {
    const { script, id, ports, at, ctx, execution } = play
    const leave = witness.enters(execution)
    const emissions = before(script)
    const outputs = (emission: number) => outputsOf(script, id, at, emission)
    const kind = style.pick(['at once', 'at once', 'later', 'generator', 'generator later'] as const)
    meet(kind, 1)
    if (kind === 'at once') {
      try {
        for (let emission = 0; emission < emissions; emission++) ctx.emit(outputs(emission))
        return endOf(script, id, ports, at)
      } finally {
        leave()
      }
    }
    if (kind === 'later')
      return (async () => {
        try {
          for (let emission = 0; emission < emissions; emission++) {
            if (style.happens(0.7)) await pauses.pause()
            ctx.emit(outputs(emission))
          }
          await pauses.pause()
          return endOf(script, id, ports, at)
        } finally {
          leave()
        }
      })()
    witness.isGenerator(execution)
    if (kind === 'generator')
      return (function* () {
        try {
          for (let emission = 0; emission < emissions; emission++) {
            if (style.happens(0.3)) ctx.emit(outputs(emission))
            else yield outputs(emission)
          }
          return endOf(script, id, ports, at)
        } finally {
          leave()
        }
      })()
    return (async function* () {
      try {
        for (let emission = 0; emission < emissions; emission++) {
          if (style.happens(0.5)) await pauses.pause()
          if (style.happens(0.3)) ctx.emit(outputs(emission))
          else yield outputs(emission)
        }
        if (style.happens(0.5)) await pauses.pause()
        return endOf(script, id, ports, at)
      } finally {
        leave()
      }
    })()
  }

  const loads_by_hand = chance.happens(0.2)
  const deploys = chance.happens(0.4)
  const flow = new RandomFlow(chance, count, body, () => (chance.happens(0.15) ? { timeout: 5 } : {}))
  /** Each message has a reader of its own, which must see all that is published. */
  const probes = messages.map((message, at) => node(`p${at}`, message, '', nothing, { dtype: 'str' }))
  const story = new FlowStory([...flow.nodes, ...probes], {
    values,
    loads_by_hand,
    begins: begun => witness.begins(begun),
    starts: execution => {
      const { id } = execution.seat.node
      const at = nth.get(id) ?? 0
      nth.set(id, at + 1)
      present = { execution, id, at, name: `${id}.${at}` }
      witness.starts(execution, present.name)
      if (execution.dispatched) calls.set(execution, { id, at, emission: 0, leave: witness.enters(execution) })
    },
    publishes: (message, _version, value) => {
      const [id, at, emission] = String(value).split('.')
      witness.publishes(message, value, `${id}.${at}`, Number(emission))
    },
    ends: cascade => witness.ends(cascade),
  })
  story.tick_ms = 1
  let loops = false
  const lookForLoops = () => {
    loops ||= story.plan.nodes.some(({ outputs }) => outputs.some(({ back }) => back.length > 0))
    witness.in_order = !loops
  }
  lookForLoops()

  let publishes = 0
  const publish = () => {
    const name = chance.pick(messages)
    const value = `${name}!${publishes++}`
    assert.ok(isFollowed(story.plan, story.indexOf(name)))
    witness.queued(name, value)
    story.publish(name, value)
  }
  /** One of the calls emits or ends. */
  const callGoesOn = () => {
    if (story.calls.length === 0) return
    const execution = chance.pick(story.calls)
    const call = calls.get(execution)!
    const { id, at } = call
    const ports = execution.run.plan.nodes[execution.position]!.outputs.map(({ port }) => port)
    const script = scriptOf(start, id, ports, at)
    if (call.emission < before(script)) {
      story.callEmits(id, outputsOf(script, id, at, call.emission++))
      return
    }
    calls.delete(execution)
    call.leave()
    try {
      story.callReturns(id, endOf(script, id, ports, at))
    } catch (error) {
      story.callThrows(id, error)
    }
  }

  for (let steps = 20 + chance.below(120); steps > 0; steps--) {
    const choice = chance.below(100)
    if (choice < 30) publish()
    else if (choice < 60) story.turn(1 + chance.below(8))
    else if (choice < 75) pauses.release(chance)
    else if (choice < 82) callGoesOn()
    else if (choice < 94) await new Promise(setImmediate)
    else if (choice < 97) story.loads(chance.pick([...flow.nodes, ...probes]).id)
    else if (deploys) {
      flow.change()
      witness.deployed()
      story.deploys([...flow.nodes, ...probes])
      lookForLoops()
      meet('deploys', 1)
    }
  }
  do {
    story.loads()
    while (pauses.size > 0) pauses.release(chance)
    while (story.calls.length > 0) callGoesOn()
    await story.settles()
  } while (pauses.size > 0 || story.calls.length > 0 || story.loading.length > 0)

  assert.deepEqual(witness.problems, [], `seed ${start}`)
  assert.deepEqual(story.open(), [], `seed ${start}`)
  for (const [at, message] of messages.entries())
    for (const way of ['outside', 'node'] as const) {
      const seen = (witness.reads.get(`p${at}`) ?? []).map(inputs => Object.values(inputs)[0])
      const published = witness.published(message, way)
      const those = new Set(published)
      const its = seen.filter(value => those.has(value))
      // What a user published may be replaced by its own node within the same wave, before its readers come to run.
      const replaced = way === 'outside' && !OUTSIDE.includes(message)
      const expected = replaced ? published.filter(value => its.includes(value)) : published
      // In a loop a node may run again before the readers of its earlier emissions do.
      assert.deepEqual(
        loops ? its.toSorted() : its,
        loops ? expected.toSorted() : expected,
        `seed ${start}: every value of ${message} from ${way} once and in order`,
      )
    }
  meet('cascades', story.begun)
  meet('executions', story.started.length)
  meet('publishes', story.published.length)
  meet('failures', story.failures.length)
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditMemory } from '../../../../core/cascade/audit.ts'
import { REFUSED } from '../../../../core/cascade/publish/refused.ts'
import type { Route } from '../../../../core/cascade/publish/route.ts'
import { flowsOf } from '../../../../core/cascade/publish/together.ts'
import { GROUP, itemBytes } from '../../../../core/cascade/queue/item.ts'
import { SHARED_SET, setOf } from '../../../../core/cascade/queue/ready.ts'
import type { EncodedValue } from '../../../../core/memory/encoded.ts'
import { limits } from '../../../../protocol/limits.ts'
import { smallMemory } from '../../../kit/memory.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { recoverAfterDeath } from '../kit/recovered.ts'
import { emission, emptyItem, float, refusal, route, Station, Store, text, told } from '../kit/station.ts'

const ROUNDS = process.env['LONG'] === undefined ? 6 : 200
const STEPS = 3_000
const BOUNDS = { items: 60, bytes: 200_000, hard_factor: 4 }
const SIZES = [0, 8, 79, 80, 81, 500, 1023, 1024, 1025, 3000, 4096, 4097, 20_000, 40_000, 200_000]

/** What the engine must look like from outside: per message its version and value, per flow what waits there. */
class Model {
  readonly versions = new Map<number, number>()
  readonly values = new Map<number, string>()
  /** By flow what its next cascades start with: one item, or what one emission published for it. */
  readonly queues = new Map<number, string[][]>()
  readonly journal = new Map<number, string[]>()

  /** `together`: by flow the cascade that the other items of the same emission are in. */
  published(
    message: number,
    version: number,
    value: EncodedValue,
    readers: readonly number[],
    together = new Map<number, string[]>(),
  ): void {
    assert.equal(version, (this.versions.get(message) ?? 0) + 1, 'versions are contiguous')
    const line = `${message}@${version}=${told(value)}`
    this.versions.set(message, version)
    this.values.set(message, told(value))
    of(this.journal, message).push(line)
    for (const reader of readers) {
      const group = together.get(reader)
      if (group === undefined) of(this.queues, reader).push([line])
      else if (group.push(line) === 1) of(this.queues, reader).push(group)
    }
  }
}

const of = <Item>(lists: Map<number, Item[]>, key: number): Item[] => {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}

test(`publishes, turns, deaths and full pools agree with a model (SEED=${seed})`, t => {
  const met = new Map<string, number>()
  for (let round = 0; round < ROUNDS; round++) fuzz(seed + round, what => met.set(what, (met.get(what) ?? 0) + 1))
  t.diagnostic(JSON.stringify(Object.fromEntries(met)))
})

function fuzz(start: number, meet: (what: string) => void): void {
  const random = randomFrom(start)
  const below = (bound: number): number => Math.floor(random() * bound)
  const flows = 2 + below(6)
  const messages = 12
  const memory = smallMemory({
    flows,
    messages,
    nodes: 4,
    queue_segments: [4, 12, 64][below(3)],
    arena_bytes: [512, 1024, 4096][below(3)]! * 1024,
    ring_bytes: 1 << 18,
  })
  const routes = Array.from({ length: messages }, (_, message) => {
    const flow = below(flows)
    const foreign = Array.from({ length: flows }, (_, other) => other).filter(other => other !== flow && below(4) === 0)
    return route(message, flow, foreign, below(4) > 0)
  })
  const model = new Model()
  const front = new Station(memory, 1, BOUNDS)
  const lanes = [new Station(memory, 8, BOUNDS), new Station(memory, 9, BOUNDS)]
  for (const lane of lanes) lane.ready.enterLane(lane.slot)
  const store = new Store(memory, [1, 8, 9])
  const item = emptyItem()
  const owned = new Map<Station, number>()

  const endUnits = (): void => {
    for (const station of [front, ...lanes]) station.endUnit()
  }
  const readersOf = ({ flow, queued, foreign }: Route): readonly number[] => (queued ? [flow, ...foreign] : foreign)
  const anyValue = (): EncodedValue =>
    below(2) === 0 ? float(random()) : text(below(256), SIZES[below(SIZES.length)]!)
  const publish = (): void => {
    const where = routes[below(messages)]!
    const value = anyValue()
    const version = front.publisher.publish(where, value, 100)
    meet(refusal(version) ?? 'published')
    if (version < 0) {
      assert.equal(front.messages.version(where.message), model.versions.get(where.message) ?? 0)
      assert.notEqual(version, REFUSED.held)
      const full = where.downstream.some(
        flow => front.flows.waiting(flow) >= BOUNDS.items || front.flows.waitingBytes(flow) >= BOUNDS.bytes,
      )
      assert.equal(version === REFUSED.backlogged, full)
      return
    }
    model.published(where.message, version, value, readersOf(where))
  }
  const publishInner = (): void => {
    const lane = lanes[below(2)]!
    const where = routes[below(messages)]!
    const value = anyValue()
    if (!lane.journal.hasRoom(10_000)) return
    const dropped = lane.dropped.length
    const version = lane.publisher.publishInner(where, value, 100, 0, 1, 1)
    meet(`inner ${refusal(version) ?? 'published'}`)
    if (version < 0) {
      assert.equal(version, REFUSED.arena_full)
      return
    }
    const missed = lane.dropped.slice(dropped).map(drop => drop.flow)
    for (const _ of missed) meet('child dropped')
    model.published(
      where.message,
      version,
      value,
      where.foreign.filter(flow => !missed.includes(flow)),
    )
  }
  /** One cascade each, or one cascade in each flow: then no message comes twice. */
  const publishList = (): void => {
    const together = below(2) === 0
    const own = below(flows)
    const row = routes.filter(({ flow, foreign }) => flow === own && foreign.length === 0)
    const from = together && row.length > 0 && below(3) === 0 ? row : routes
    const drawn = Array.from({ length: 1 + below(12) }, () => from[below(from.length)]!)
    const routed = together ? [...new Set(drawn)] : drawn
    const values = routed.map(anyValue)
    endUnits()
    const before = auditMemory(memory)
    const versions: number[] = []
    const full = wouldPassABound(routed, values)
    const refused = together
      ? front.publisher.publishTogether(routed, flowsOf(routed), values, 100, versions)
      : front.publisher.publishList(routed, values, 100, versions)
    meet(`${together ? 'together' : 'list'} ${refusal(refused) ?? 'published'}`)
    const groups = new Map<number, string[]>()
    if (together) for (const where of routed) for (const flow of readersOf(where)) groups.set(flow, [])
    assert.notEqual(refused, REFUSED.held)
    if (refused === 0) {
      assert.equal(full, -1, 'a list that would pass a bound was published')
      routed.forEach((where, at) => {
        model.published(where.message, versions[at]!, values[at]!, readersOf(where), groups)
      })
      return
    }
    if (refused === REFUSED.backlogged) assert.equal(front.publisher.refused_at, full)
    const after = auditMemory(memory)
    assert.deepEqual(
      [after.problems, after.items, after.segments.held <= before.segments.held, after.slabs.held],
      [[], before.items, true, before.slabs.held],
      'a refused list leaves nothing behind',
    )
    for (const { message } of routed) assert.equal(front.messages.version(message), model.versions.get(message) ?? 0)
  }
  /** The first value of a list that finds a flow at its bound, as if those before it waited already; -1: none does. */
  const wouldPassABound = (routed: readonly Route[], values: readonly EncodedValue[]): number => {
    const items = new Map<number, number>()
    const bytes = new Map<number, number>()
    return routed.findIndex((where, at) => {
      const value = values[at]!
      const full = where.downstream.some(
        flow =>
          front.flows.waiting(flow) + (items.get(flow) ?? 0) >= BOUNDS.items ||
          front.flows.waitingBytes(flow) + (bytes.get(flow) ?? 0) >= BOUNDS.bytes,
      )
      for (const flow of readersOf(where)) {
        items.set(flow, (items.get(flow) ?? 0) + 1)
        bytes.set(flow, (bytes.get(flow) ?? 0) + itemBytes(value, value.length > limits.QUEUE_INLINE_BYTES ? 1 : 0))
      }
      return full
    })
  }
  const publishEmission = (): void => {
    const lane = lanes[below(2)]!
    const own = below(flows)
    const parts = routes.filter(where => where.flow === own && below(3) > 0).map(where => [where, anyValue()] as const)
    if (parts.length === 0 || !lane.journal.hasRoom(60_000)) return
    const given = emission(parts)
    const dropped = lane.dropped.length
    lane.publisher.publishEmission(given, flowsOf(given.routes), 100, 0, 1, 1)
    const missed = lane.dropped.slice(dropped)
    const together = new Map<number, string[]>()
    for (const [where] of parts) for (const flow of where.foreign) together.set(flow, [])
    for (const { flow, message } of missed) {
      meet('child of an emission dropped')
      for (const [at, [where]] of parts.entries()) {
        if (where.foreign.includes(flow) && given.versions[at]! > 0)
          assert.ok(
            missed.some(one => one.flow === flow && one.message === where.message),
            'all of a group or none',
          )
      }
      assert.ok(parts.some(([where]) => where.message === message && where.foreign.includes(flow)))
    }
    parts.forEach(([where, value], at) => {
      const version = given.versions[at]!
      meet(`emitted ${refusal(version) ?? 'published'}`)
      if (version < 0) return
      const readers = where.foreign.filter(flow => !missed.some(drop => drop.flow === flow))
      model.published(where.message, version, value, readers, together)
    })
  }
  /** A lane goes on with the flow it owns, or looks for one. */
  const turn = (): void => {
    const lane = lanes[below(2)]!
    let flow = owned.get(lane) ?? -1
    if (flow < 0) {
      flow = lane.ready.take(setOf(lane.slot), below(flows))
      if (flow < 0) flow = lane.ready.take(SHARED_SET, below(flows))
      if (flow < 0) return
      if (!lane.flows.claim(flow, lane.owner)) {
        lane.ready.markReady(flow)
        return
      }
      owned.set(lane, flow)
    }
    for (let left = below(40); left > 0; left--) {
      const [expected] = of(model.queues, flow)
      if (expected !== undefined) assert.ok(lane.queue.oldest(flow) === 100)
      const takeable = lane.queue.isTakeable(flow)
      const taken = lane.queue.take(flow, item)
      assert.equal(taken, takeable)
      if (!taken) {
        // The other lane has published it in a unit that it has not ended.
        if (expected !== undefined) {
          meet('waits for a unit')
          for (const other of lanes) if (other !== lane) other.endUnit()
          assert.ok(lane.queue.isTakeable(flow), 'nothing is lost')
        }
        break
      }
      of(model.queues, flow).shift()
      const cascade = [`${item.message}@${item.version}=${told(item.value)}`]
      while ((item.group & GROUP.goes_on) !== 0 && lane.queue.takeJoined(flow, item))
        cascade.push(`${item.message}@${item.version}=${told(item.value)}`)
      assert.deepEqual(cascade, expected)
      if (cascade.length > 1) meet('joined')
    }
    if (below(3) === 0) return
    owned.delete(lane)
    lane.flows.release(flow, lane.owner)
    if (lane.flows.queued(flow) > 0) lane.ready.markReady(flow)
  }
  /** A lane dies between two steps; another one takes its slot. */
  const die = (): void => {
    const at = below(2)
    owned.delete(lanes[at]!)
    recoverAfterDeath(memory, lanes[at]!.slot)
    lanes[at] = new Station(memory, lanes[at]!.slot, BOUNDS)
    lanes[at].ready.enterLane(lanes[at].slot)
  }
  const drain = (): void => {
    endUnits()
    store.drain()
  }
  const audit = (): void => {
    endUnits()
    assert.deepEqual(auditMemory(memory).problems, [])
    for (let flow = 0; flow < flows; flow++)
      assert.equal(front.flows.queued(flow), of(model.queues, flow).flat().length)
  }

  for (let step = 0; step < STEPS; step++) {
    const choice = below(100)
    if (choice < 35) publish()
    else if (choice < 45) publishList()
    else if (choice < 52) publishInner()
    else if (choice < 60) publishEmission()
    else if (choice < 92) turn()
    else if (choice < 98) drain()
    else if (choice === 98) die()
    else audit()
  }
  // Looking at the marks alone, the lanes find all that waits.
  endUnits()
  for (let idle = 0; idle < 200; idle++) {
    const before = [...model.queues.values()].reduce((sum, queue) => sum + queue.length, 0)
    turn()
    if (before > 0) idle = 0
  }
  drain()
  audit()
  assert.equal(auditMemory(memory).items, 0)
  for (const [message, lines] of model.journal) {
    const journalled = store.lines.filter(line => line.startsWith(`${message}@`))
    const version = (line: string): number => Number(line.slice(line.indexOf('@') + 1, line.indexOf('=')))
    assert.deepEqual(
      journalled.sort((a, b) => version(a) - version(b)),
      lines,
    )
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditMemory } from '../../../core/cascade/audit.ts'
import { REFUSED } from '../../../core/cascade/publish.ts'
import { SHARED_SET, setOf } from '../../../core/cascade/ready.ts'
import type { EncodedValue } from '../../../core/memory/encoded.ts'
import { smallMemory } from '../../kit/memory.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { recoverAfterDeath } from './kit/recovered.ts'
import { emptyItem, float, refusal, route, Station, Store, text, told } from './kit/station.ts'

const ROUNDS = process.env['LONG'] === undefined ? 6 : 200
const STEPS = 3_000
const BOUNDS = { items: 60, bytes: 200_000, hard_factor: 4 }
const SIZES = [0, 8, 79, 80, 81, 500, 1023, 1024, 1025, 3000, 4096, 4097, 20_000, 40_000, 200_000]

/** What the engine must look like from outside: per message its version and value, per flow what waits there. */
class Model {
  readonly versions = new Map<number, number>()
  readonly values = new Map<number, string>()
  readonly queues = new Map<number, string[]>()
  readonly journal = new Map<number, string[]>()

  published(message: number, version: number, value: EncodedValue, readers: readonly number[]): void {
    assert.equal(version, (this.versions.get(message) ?? 0) + 1, 'versions are contiguous')
    const line = `${message}@${version}=${told(value)}`
    this.versions.set(message, version)
    this.values.set(message, told(value))
    of(this.journal, message).push(line)
    for (const reader of readers) of(this.queues, reader).push(line)
  }
}

const of = (lists: Map<number, string[]>, key: number): string[] => {
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
    model.published(where.message, version, value, where.queued ? [where.flow, ...where.foreign] : where.foreign)
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
      const expected = of(model.queues, flow)[0]
      if (expected !== undefined) assert.ok(lane.queue.oldest(flow) === 100)
      if (!lane.queue.take(flow, item)) {
        assert.equal(expected, undefined, 'nothing is lost')
        break
      }
      assert.equal(`${item.message}@${item.version}=${told(item.value)}`, of(model.queues, flow).shift())
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
    for (const station of [front, ...lanes]) station.journal.mark()
    store.drain()
  }
  const audit = (): void => {
    assert.deepEqual(auditMemory(memory).problems, [])
    for (let flow = 0; flow < flows; flow++) assert.equal(front.flows.queued(flow), of(model.queues, flow).length)
  }

  for (let step = 0; step < STEPS; step++) {
    const choice = below(100)
    if (choice < 45) publish()
    else if (choice < 60) publishInner()
    else if (choice < 92) turn()
    else if (choice < 98) drain()
    else if (choice === 98) die()
    else audit()
  }
  // Looking at the marks alone, the lanes find all that waits.
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

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Clock } from '../../../core/memory/clock.ts'
import { createMemory } from '../../../core/memory/region.ts'
import { limits } from '../../../protocol/limits.ts'
import { type ClockDoubt, type ClockJump, ClockWatch } from '../../../server/watch/clock-watch.ts'
import { smallSizes } from '../../kit/memory.ts'

const START_MS = 1_767_225_600_000
const HOUR_MS = 3_600_000

/** A machine whose two clocks the test moves, and the thread that watches them. */
class Machine {
  steady_ms = 5_000
  wall_ms: number
  readonly jumps: ClockJump[] = []
  readonly told: Record<string, unknown>[] = []
  readonly memory = createMemory(smallSizes)
  readonly clock = new Clock(this.memory, { now: () => this.steady_ms, ahead_ms: 0 })
  /** As it is kept for the next start. */
  doubt: ClockDoubt | null
  readonly #watch: ClockWatch

  constructor(wall_ms = START_MS, doubt: ClockDoubt | null = null) {
    this.wall_ms = wall_ms
    this.doubt = doubt
    this.clock.begin(this.wall_ms * 1000)
    this.#watch = new ClockWatch({
      clock: this.clock,
      wall_ms: () => this.wall_ms,
      doubt,
      doubted: now => (this.doubt = now),
      announce: (type, flow, more) => this.told.push({ type, flow, ...more }),
      jumped: jump => this.jumps.push(jump),
    })
  }

  pass(ms: number): this {
    this.steady_ms += ms
    this.wall_ms += ms
    return this
  }

  set(by_ms: number): this {
    this.wall_ms += by_ms
    this.#watch.look()
    return this
  }

  /** By how many milliseconds each clock has moved since the start, to the nearest ten. */
  get moved() {
    const since = (us: number) => Math.round((us / 1000 - START_MS) / 10) * 10
    return [since(this.clock.now_us()), since(this.clock.steady_us()), since(this.clock.age_us())]
  }
}

describe('the clock of the machine', () => {
  test('set back by an hour takes times back, and no interval', () => {
    const machine = new Machine().pass(1_000).set(-HOUR_MS)
    assert.deepEqual(machine.moved, [1_000 - HOUR_MS, 1_000, 1_000 - HOUR_MS])
    const [{ type, by_s, from, to }] = machine.told as [Record<string, unknown>]
    assert.equal(type, 'clock_changed')
    assert.equal(Math.round(by_s as number), -3_600)
    assert.deepEqual(
      [String(from).slice(0, 19), String(to).slice(0, 19)],
      ['2026-01-01T00:00:01', '2025-12-31T23:00:01'],
    )
  })

  test('set forward by an hour makes nothing older, until it has stood there for a day', () => {
    const machine = new Machine().set(HOUR_MS)
    assert.deepEqual(machine.moved, [HOUR_MS, 0, 0])
    machine.pass(limits.CLOCK_BELIEVED_MS - 1_000).set(0)
    assert.equal(machine.clock.age_us() < machine.clock.now_us(), true)
    machine.pass(1_000).set(0)
    assert.equal(machine.clock.age_us(), machine.clock.now_us())
  })

  test('set forward and back again has made nothing older in between, and is where it was', () => {
    const machine = new Machine().set(HOUR_MS).pass(60_000).set(-HOUR_MS)
    assert.deepEqual(machine.moved, [60_000, 60_000, 60_000])
    assert.equal(machine.jumps.length, 2)
  })

  test('set forward makes nothing older on the next start either, until it has stood there for a day', () => {
    const before = new Machine().set(HOUR_MS).pass(HOUR_MS)
    const next = new Machine(before.wall_ms, before.doubt)
    assert.deepEqual(next.moved, [2 * HOUR_MS, 2 * HOUR_MS, HOUR_MS])
    next.pass(limits.CLOCK_BELIEVED_MS - HOUR_MS + 1_000).set(0)
    assert.equal(next.clock.age_us(), next.clock.now_us())
    const late = new Machine(before.wall_ms + limits.CLOCK_BELIEVED_MS + 1_000, before.doubt)
    assert.equal(late.clock.age_us(), late.clock.now_us())
  })

  test('corrected by a little is followed in silence', () => {
    const machine = new Machine()
    for (let i = 0; i < 10; i++) machine.set(limits.CLOCK_JUMP_MS / 2)
    assert.deepEqual(machine.moved.slice(0, 2), [5 * limits.CLOCK_JUMP_MS, 0])
    assert.deepEqual([machine.told, machine.jumps], [[], []])
  })

  test('is the same on two threads whose own clocks began at other times', () => {
    const { memory, clock, steady_ms } = new Machine().set(-HOUR_MS)
    const later = new Clock(memory, { now: () => 7, ahead_ms: steady_ms - 7 })
    assert.deepEqual(
      [later.now_us(), later.steady_us(), later.age_us()],
      [clock.now_us(), clock.steady_us(), clock.age_us()],
    )
  })
})

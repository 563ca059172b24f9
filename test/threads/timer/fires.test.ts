import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { nextCron, repeatOf } from '../../../threads/nodes/cron.ts'
import { FireLedger, missedOfCron, missedOfInterval } from '../../../threads/timer/fires.ts'
import { randomFrom, seed } from '../../kit/random.ts'

const S = 1_000_000
const START = Date.UTC(2026, 2, 1, 12) * 1000
const NODE = 'plant.beat'
const one = (at_us: number) => ({ first_us: at_us, last_us: at_us, count: 1, at_least: false })
const told = (ledger: FireLedger) =>
  ledger
    .take()
    .map(({ status, reason, count, scheduled_us, last_scheduled_us }) => [
      status,
      reason,
      count,
      (scheduled_us - START) / S,
      (last_scheduled_us - START) / S,
    ])

describe('the record of scheduled times', () => {
  test('joins times that go the same way and follow one another within a minute', () => {
    const ledger = new FireLedger()
    for (let at = 0; at < 5_000; at++) ledger.published(NODE, START + at * 1_000, START + at * 1_000 + 300)
    assert.deepEqual(told(ledger), [['fired', null, 5_000, 0, 4.999]])
    ledger.published(NODE, START + 200 * S, START + 200 * S)
    assert.deepEqual(told(ledger), [['fired', null, 1, 200, 200]])
  })

  test('tells apart what was on time, late and skipped, also when they alternate', () => {
    const ledger = new FireLedger()
    for (let at = 0; at < 30; at++) {
      const scheduled = START + at * S
      if (at % 3 === 0) ledger.published(NODE, scheduled, scheduled + 10)
      else if (at % 3 === 1) ledger.published(NODE, scheduled, scheduled + limits.FIRE_LATE_MS * 1000)
      else ledger.skipped(NODE, 'flow_full', one(scheduled))
    }
    assert.deepEqual(told(ledger), [
      ['fired', null, 10, 0, 27],
      ['late', null, 10, 1, 28],
      ['skipped', 'flow_full', 10, 2, 29],
    ])
    assert.deepEqual(told(ledger), [])
  })

  test('begins a row each hour, and when the clock was set back', () => {
    const ledger = new FireLedger()
    for (let at = 0; at <= 2 * 3_600; at += 30) ledger.published(NODE, START + at * S, START + at * S)
    assert.deepEqual(
      told(ledger).map(([, , count]) => count),
      [121, 120],
    )
    ledger.published(NODE, START, START)
    assert.deepEqual(told(ledger), [['fired', null, 1, 0, 0]])
  })

  test(`has every occurrence exactly once, and never two rows of one name (SEED=${seed})`, () => {
    const random = randomFrom(seed)
    const ledger = new FireLedger()
    const rows = new Map<number, number>()
    const keep = () => {
      for (const { opened, count } of ledger.take()) rows.set(opened, count)
    }
    let at = START
    let occurrences = 0
    for (let step = 0; step < 5_000; step++) {
      at += Math.floor(random() ** 4 * 400 * S) - (random() < 0.01 ? 3_600 * S : 0)
      const kind = random()
      if (kind < 0.6) ledger.published(NODE, at, at + Math.floor(random() * 2 * S))
      else if (kind < 0.8) ledger.skipped(NODE, 'flow_full', one(at))
      else if (kind < 0.9) ledger.skipped(NODE, 'engine_busy', { ...one(at), count: 3 })
      else ledger.caughtUp(NODE, at, at + S)
      occurrences += kind >= 0.8 && kind < 0.9 ? 3 : 1
      if (random() < 0.2) keep()
    }
    keep()
    assert.equal(
      [...rows.values()].reduce((sum, count) => sum + count, 0),
      occurrences,
    )
  })
})

describe('what was missed', () => {
  test('of an interval is counted from the last time on record', () => {
    assert.deepEqual(missedOfInterval(10, START, START + 35 * S), {
      first_us: START + 10 * S,
      last_us: START + 30 * S,
      count: 3,
      at_least: false,
    })
    assert.equal(missedOfInterval(10, START, START + 9 * S).count, 0)
  })

  test('of a cron expression is each of its times, in its time zone, over a change to summer time too', () => {
    const next = (zone: string) => (after_ms: number) => nextCron('30 2 * * *', zone, after_ms)
    // 29 March 2026: at 2 o'clock it becomes 3 in Berlin, and 2:30 comes at 3.
    const from = Date.UTC(2026, 2, 27, 12) * 1000
    const until = Date.UTC(2026, 2, 30, 12) * 1000
    assert.deepEqual(missedOfCron(next('Europe/Berlin'), from, until).count, 3)
    assert.deepEqual(missedOfCron(next('UTC'), from, until).count, 3)
    assert.equal(missedOfCron(next('UTC'), from, from).count, 0)
  })

  test('and is more than is counted says so', () => {
    const every = (after_ms: number) => after_ms + 1_000
    const missed = missedOfCron(every, START, START + 1e6 * S)
    assert.deepEqual([missed.count, missed.at_least], [limits.FIRES_MISSED_COUNTED, true])
  })
})

describe('a time of day that comes twice, because the clock of the time zone goes back', () => {
  // 25 October 2026: at 3 o'clock it becomes 2 in Berlin.
  const at = (time: string) => Date.parse(`2026-10-25T${time}:00Z`)
  const again = (expression: string, time: string) => repeatOf(expression, 'Europe/Berlin', at(time))

  test('is not taken again when the expression names the hour', () => {
    assert.equal(again('30 2 * * *', '00:30'), at('01:30'))
    assert.equal(again('0 2 25 10 *', '00:00'), at('01:00'))
  })

  test('is an occurrence of its own when the hour is a star or a range', () => {
    assert.equal(again('30 * * * *', '00:30'), null)
    assert.equal(again('15 1-3 * * *', '00:15'), null)
  })

  test('is neither the hour before it nor the one behind it, nor any time in spring', () => {
    assert.equal(repeatOf('30 1 * * *', 'Europe/Berlin', at('00:00') - 1_800_000), null)
    for (const time of ['01:30', '02:30', '12:00']) assert.equal(again('30 2 * * *', time), null)
    assert.equal(repeatOf('30 2 * * *', 'Europe/Berlin', Date.UTC(2026, 2, 29, 1)), null)
    assert.equal(repeatOf('30 2 * * *', 'UTC', at('00:30')), null)
  })

  test('goes back by half an hour in some places', () => {
    // 5 April 2026: at 2 o'clock it becomes half past one on Lord Howe.
    const first = Date.UTC(2026, 3, 4, 14, 40)
    assert.equal(repeatOf('40 1 * * *', 'Australia/Lord_Howe', first), first + 1_800_000)
  })
})

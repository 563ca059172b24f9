import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { limits } from '../../../../protocol/limits.ts'
import type { HistoryPoint } from '../../../../protocol/nouns/message.ts'
import { parseTime } from '../../../../protocol/time.ts'
import { createCodec, newEncoded } from '../../../../protocol/values/codec.ts'
import { HistoryReader } from '../../../../server/store/history/reader.ts'
import { SET_BACKS, type SetBack } from '../../../../server/store/history/set-backs.ts'
import { valueRecord } from '../../../kit/journal-records.ts'
import { opened, settle } from '../../../kit/opened-store.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { temporaryDirectory } from '../../../kit/stored.ts'

const SECOND = 1_000_000
const HOUR = 3_600 * SECOND
const YEAR = 365 * 24 * HOUR
const START = 1_767_225_600 * SECOND

/** A message with a history on a machine whose clock is set. */
class Told {
  now = START
  version = 0
  readonly set_backs: SetBack[] = []
  readonly #store
  readonly #reader
  readonly #encoded = newEncoded()
  readonly #codec = createCodec()

  constructor(t: TestContext) {
    const store = opened(temporaryDirectory(t), {}, () => this.now)
    t.after(() => store.close())
    store.registry.register({ messages: [[0, 'f.x', 'int']], flows: [], nodes: [] })
    this.#store = store
    this.#reader = new HistoryReader(store.db, this.#codec, limits.HISTORY_ANSWER_BYTES)
  }

  /** So many values, one each second; many at once are chunks of their own. */
  say(values: number): this {
    for (let i = 0; i < values; i++) {
      this.now += SECOND
      assert.equal(this.#codec.encode(++this.version, 'int', this.#encoded), null)
      this.#store.intake.visit(valueRecord(0, this.version, this.now, this.#encoded))
    }
    this.#store.commit.run(this.#store.intake, [])
    settle(this.#store)
    return this
  }

  forward(us: number): this {
    this.now += us
    return this
  }

  back(us: number, ahead_us = this.now - us): this {
    this.set_backs.push({ to_us: this.now - us, from_us: this.now, ahead_us })
    this.now -= us
    this.#store.db
      .prepare('INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)')
      .run(SET_BACKS, JSON.stringify(this.set_backs))
    return this
  }

  read(limit: number, until: number | null = null, until_version: number | null = null, since: number | null = null) {
    const { items, truncated } = this.#reader.read(
      { name: 'f.x', since, until, until_version, limit, bucket_s: null },
      this.now,
    )
    return { points: items as HistoryPoint[], truncated }
  }

  versions(...query: Parameters<Told['read']>): number[] {
    return this.read(...query).points.map(({ version }) => version)
  }

  /** Page by page from the newest on, as a client reads. */
  paged(limit: number): number[] {
    const seen: number[] = []
    for (let { points, truncated } = this.read(limit); ; ) {
      seen.unshift(...points.map(({ version }) => version))
      if (!truncated) return seen
      const [first] = points
      ;({ points, truncated } = this.read(limit, parseTime(first!.ts)!, first!.version))
    }
  }
}

const upTo = (least: number, most: number): number[] => Array.from({ length: most - least + 1 }, (_, n) => least + n)

test('after the clock was set back the newest values are those of the highest versions, and pages bring each once', t => {
  const told = new Told(t).say(4_000).back(HOUR).say(300)
  assert.deepEqual(told.versions(5), upTo(4_296, 4_300))
  assert.deepEqual(told.paged(170), upTo(1, 4_300))
  told.say(4_000)
  assert.deepEqual(told.versions(5), upTo(8_296, 8_300))
  assert.deepEqual(told.paged(999), upTo(1, 8_300))
})

test('a stretch of time that came twice is read with the values of both times, in the order of their versions', t => {
  const told = new Told(t)
    .say(10)
    .back(8 * SECOND)
    .say(3)
  assert.deepEqual(told.versions(100, START + 6 * SECOND, null, START + 3 * SECOND), [3, 4, 5, 11, 12, 13])
})

test('what a clock said that was a year ahead for minutes comes before what followed it, and never twice', t => {
  const told = new Told(t).say(200).forward(YEAR)
  const ahead = told.now
  told.say(200).back(YEAR, ahead).say(200)
  assert.deepEqual(told.versions(3), [598, 599, 600])
  assert.deepEqual(told.paged(70), upTo(1, 600))
})

test('whatever the clock does, pages bring every value once, in the order of the versions', t => {
  const random = randomFrom(seed)
  const upToAny = (most: number): number => 1 + Math.floor(random() * most)
  for (let round = 0; round < 6; round++) {
    const told = new Told(t)
    for (let change = 0; change < 4; change++) {
      told.say(upToAny(150))
      const us = upToAny(200) * SECOND
      if (random() < 0.5) {
        told.back(us)
      } else {
        told.forward(us)
        const ahead = told.now
        told.say(upToAny(20)).back(us, ahead)
      }
      told.say(upToAny(150))
      assert.deepEqual(told.paged(upToAny(60)), upTo(1, told.version), `round ${round}, change ${change}`)
    }
  }
})

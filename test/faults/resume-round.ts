import assert from 'node:assert/strict'
import type { Cascade } from '../../protocol/nouns/cascade.ts'
import { RealEngine } from '../kit/real-engine.ts'
import { Endings, eventually } from '../kit/spawned.ts'
import { exactMessages, exactStates, resumeFlows } from './resume-flows.ts'
import { storedStates } from './stored-states.ts'

/** Most readings of one list. */
const LIST = 16
const READING = 'sensor.reading'

/** What an engine that was never ended made of the series. */
export interface Uninterrupted {
  /** By message, the value of version `at + 1`. */
  readonly values: ReadonlyMap<string, readonly unknown[]>
  readonly states: ReadonlyMap<string, Record<string, unknown>>
}

export interface ResumeFigures {
  round: number
  end: 'killed' | 'stopped'
  /** Readings on disk after the round, and of those the ones that the slow flow had not run when the next engine answered. */
  readings: number
  waiting: number
  /** Sent and never acknowledged; some of them are among the readings. */
  unanswered: number
  start_ms: number
}

/** One engine, from its start to its end, on a data directory of the rounds. */
class Life {
  readonly #endings = new Endings()
  readonly engine: RealEngine

  private constructor(engine: RealEngine, endings: Endings) {
    this.engine = engine
    this.#endings = endings
  }

  static async begin(data_dir: string): Promise<Life> {
    const endings = new Endings()
    return new Life(await RealEngine.start(endings, { data_dir }), endings)
  }

  async killed(): Promise<void> {
    await this.engine.kill()
    await this.#endings.end()
  }

  async stopped(): Promise<void> {
    await this.engine.stop()
    await this.#endings.end()
  }
}

/** Streams durable publishes of a series, in order, list by list, until it is told to leave off or the engine goes. */
class Stream {
  /** Version of the newest reading that was acknowledged as on disk. */
  acknowledged: number
  sent: number
  #over = false
  readonly #running: Promise<void>

  /** From the reading behind the first `from` ones, to the first `to`. */
  constructor(engine: RealEngine, series: readonly number[], from: number, to: number) {
    this.sent = from
    this.acknowledged = from
    this.#running = this.#run(engine, series, to)
    // Told to whoever awaits the end.
    this.#running.catch(() => undefined)
  }

  async #run(engine: RealEngine, series: readonly number[], to: number): Promise<void> {
    while (this.acknowledged < to && !this.#over) {
      const upTo = Math.min(to, this.acknowledged + 1 + (this.acknowledged % LIST))
      const list = series.slice(this.acknowledged, upTo).map(value => ({ name: READING, value, durable: true }))
      this.sent = upTo
      const answer = await engine.ask('POST', '/messages/', list).catch(() => null)
      // The engine is gone, or going.
      if (answer === null || answer.status >= 500) {
        if (this.#over || answer === null) return
        // Nothing of the list stands: a lane of a loaded machine may hold a flow for longer than the front waits.
        assert.match(answer.json.code, /backlogged|starting/)
        await new Promise(resolve => setTimeout(resolve, 10))
        continue
      }
      assert.equal(answer.status, 202, JSON.stringify(answer.json))
      const last = answer.json.at(-1).version
      assert.equal(last, upTo, 'the readings have their places in the series as versions')
      this.acknowledged = last
    }
  }

  whole(): Promise<void> {
    return this.#running
  }

  /** The engine is gone, or is about to go. */
  async end(): Promise<void> {
    this.#over = true
    await this.#running
  }
}

/** Runs the whole series through an engine that nothing happens to. */
export async function uninterrupted(data_dir: string, series: readonly number[]): Promise<Uninterrupted> {
  const life = await Life.begin(data_dir)
  const values = new Map<string, unknown[]>()
  try {
    for (const [name, document] of Object.entries(resumeFlows)) await life.engine.save(name, document)
    await new Stream(life.engine, series, 0, series.length).whole()
    await hasRun(life.engine, series.length)
    for (const message of Object.keys(exactMessages)) {
      const points = await life.engine.pointsSince(message, { version: 0, ts: null })
      values.set(
        message,
        points.map(point => point.value),
      )
    }
  } finally {
    await life.stopped()
  }
  return { values, states: storedStates(data_dir) }
}

/** All that the readings lead to is there, in every flow whose outcome does not depend on time. */
async function hasRun(engine: RealEngine, count: number): Promise<void> {
  for (const [message, each] of Object.entries(exactMessages)) {
    let version = 0
    for (let patience = 0; version < count * each; patience++) {
      const before = version
      ;({ version } = await engine.message(message))
      if (version > before) patience = 0
      assert.ok(patience < 3_000, `${message} stands at ${version} of ${count * each}`)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
}

/**
 * Rounds over one data directory: start, look at what the last engine left, stream readings, end in the middle: mostly by
 * `kill -9`, now and then in order. What an engine that was never ended makes of the same series is what these make together.
 */
export class ResumeRounds {
  readonly #data_dir: string
  readonly #random: () => number
  readonly #series: readonly number[]
  readonly #expected: Uninterrupted
  /** By message: up to where its history was looked at. */
  readonly #known = new Map(
    Object.keys(exactMessages).map(message => [message, { version: 0, ts: null as string | null }]),
  )
  #life: Life | null = null
  #round = 0
  /** Readings on disk for certain. */
  #certain = 0
  /** The same with the list that was on its way when the engine ended. */
  #sent = 0

  constructor(data_dir: string, random: () => number, series: readonly number[], expected: Uninterrupted) {
    this.#data_dir = data_dir
    this.#random = random
    this.#series = series
    this.#expected = expected
  }

  /** `left`: rounds with this one; each takes its share of what is left of the series, some more, some less. */
  async round(left: number): Promise<ResumeFigures> {
    this.#round++
    const from_ms = performance.now()
    const life = await this.#begin()
    const start_ms = performance.now() - from_ms
    const { engine } = life
    const { version: from } = await engine.message(READING)
    this.#assertWhole(from)
    const { version: late } = await engine.message('slow.late')
    await this.#compare(engine)
    const share = ((this.#series.length - from) / left) * 2 * this.#random()
    const stream = new Stream(engine, this.#series, from, Math.min(this.#series.length, Math.ceil(from + share)))
    await new Promise(resolve => setTimeout(resolve, 20 + this.#random() ** 2 * 400))
    const end = this.#random() < 0.2 ? 'stopped' : 'killed'
    if (end === 'killed') await life.killed()
    await stream.end()
    if (end === 'stopped') await life.stopped()
    this.#life = null
    this.#certain = stream.acknowledged
    this.#sent = stream.sent
    const unanswered = stream.sent - stream.acknowledged
    return { round: this.#round, end, readings: from, waiting: from - late, unanswered, start_ms }
  }

  /** The rest of the series, and the comparison of everything. Answers how many cascades of the bodies away were interrupted. */
  async finish(): Promise<{ interrupted: number; passed: number }> {
    const life = await this.#begin()
    const { engine } = life
    const { version: from } = await engine.message(READING)
    this.#assertWhole(from)
    const stream = new Stream(engine, this.#series, from, this.#series.length)
    await stream.whole()
    await stream.end()
    const count = this.#series.length
    await hasRun(engine, count)
    await this.#compare(engine)
    const passed = await this.#checkPaced(engine, count)
    const interrupted = await this.#checkSums(engine, count)
    await life.stopped()
    const states = storedStates(this.#data_dir)
    for (const node of exactStates) assert.deepEqual(states.get(node), this.#expected.states.get(node), node)
    assert.deepEqual(states.get('paced.tail'), { n: passed }, 'each value that passed was read once')
    return { interrupted, passed }
  }

  /** Ends the last engine, when something did not hold. */
  async end(): Promise<void> {
    await this.#life?.stopped().catch(() => undefined)
  }

  async #begin(): Promise<Life> {
    this.#life = await Life.begin(this.#data_dir)
    if (this.#round === 1) {
      for (const [name, document] of Object.entries(resumeFlows)) await this.#life.engine.save(name, document)
    }
    return this.#life
  }

  /** What was acknowledged is there, and a list that was on its way is there whole or not at all. */
  #assertWhole(found: number): void {
    const expected = [this.#certain, this.#sent]
    assert.ok(
      expected.includes(found),
      `${this.#certain} readings were acknowledged, ${this.#sent} sent, ${found} are there`,
    )
  }

  /** What is new in the histories has no hole and is, value by value, what the uninterrupted engine made. */
  async #compare(engine: RealEngine): Promise<void> {
    for (const [message, known] of this.#known) {
      const expected = this.#expected.values.get(message)!
      for (const { version, ts, value } of await engine.pointsSince(message, known)) {
        assert.equal(version, known.version + 1, `${message} has no hole behind version ${known.version}`)
        assert.deepEqual(value, expected[version - 1], `${message} version ${version}`)
        Object.assign(known, { version, ts })
      }
    }
  }

  /** What passes a rate limit is a subsequence of what came, the last value is among it, and whoever reads it read each once. */
  async #checkPaced(engine: RealEngine, count: number): Promise<number> {
    await eventually('the last value has passed the rate limit and was read', async () => {
      const [paced, tail] = [await engine.message('paced.paced'), await engine.message('paced.tail')]
      return paced.value === count && tail.version === paced.version
    })
    const passed = (await engine.pointsSince('paced.paced', { version: 0, ts: null })).map(point => Number(point.value))
    passed.forEach((value, at) => {
      assert.ok(at === 0 || value > passed[at - 1]!, `paced.paced went from ${passed[at - 1]} to ${value}`)
    })
    const tail = await engine.pointsSince('paced.tail', { version: 0, ts: null })
    // A value that the timer released waits its turn; one that passed at once may be read before it.
    const read = tail.map(point => point.value as [number, number])
    assert.deepEqual(
      read.map(([nth]) => nth),
      passed.map((_, at) => at + 1),
    )
    assert.deepEqual(
      read.map(([, value]) => value).sort((a, b) => a - b),
      passed,
    )
    return passed.length
  }

  /**
   * Accepted = ran + interrupted + dropped, with nothing dropped; only bodies that were away are interrupted, and those run again.
   */
  async #checkSums(engine: RealEngine, count: number): Promise<number> {
    const counts = async (flow: string, status: Cascade['status']): Promise<number> =>
      (await engine.ask('GET', `/cascades?flow=${flow}&status=${status}&limit=1`)).json.count
    for (const flow of ['sensor', 'alarm', 'report', 'slow']) {
      const of = {
        succeeded: await counts(flow, 'succeeded'),
        failed: await counts(flow, 'failed'),
        interrupted: await counts(flow, 'interrupted'),
        running: await counts(flow, 'running'),
      }
      assert.deepEqual(of, { succeeded: count, failed: 0, interrupted: 0, running: 0 }, `cascades of ${flow}`)
    }
    await eventually('no body is away', async () => (await counts('away', 'running')) === 0)
    const ended = await eventually('every reading has come to the bodies away', async () => {
      const sums = [await counts('away', 'succeeded'), await counts('away', 'interrupted')] as const
      return sums[0] + sums[1] === count ? sums : null
    })
    const came = await this.#came(engine)
    assert.equal(new Set(came).size, came.length, 'no body away published twice')
    assert.ok(came.length >= ended[0] && came.length <= count, 'every cascade that has run has published')
    await this.#runAgain(engine, new Set(came), count)
    return ended[1]
  }

  async #came(engine: RealEngine): Promise<number[]> {
    const points = await engine.pointsSince('away.came', { version: 0, ts: null })
    return points.map(point => Number(point.value))
  }

  /** What was interrupted before it published runs again: then every reading has come, none of them twice. */
  async #runAgain(engine: RealEngine, came: ReadonlySet<number>, count: number): Promise<void> {
    const interrupted: Cascade[] = []
    for (;;) {
      const path = `/cascades?flow=away&status=interrupted&limit=1000&offset=${interrupted.length}`
      const page: Cascade[] = (await engine.ask('GET', path)).json.items
      if (page.length === 0) break
      interrupted.push(...page)
    }
    let missing = 0
    for (const { id, root_version } of interrupted) {
      if (came.has(root_version)) continue
      missing++
      const { status, json } = await engine.ask('POST', `/cascades/${id}/rerun`)
      assert.equal(status, 202, JSON.stringify(json))
    }
    assert.equal(came.size + missing, count, 'what did not come was interrupted')
    const all = await eventually('what ran again has come', async () => {
      const now = await this.#came(engine)
      return now.length >= count ? now : null
    })
    assert.deepEqual(
      [...all].sort((a, b) => a - b),
      Array.from({ length: count }, (_, at) => at + 1),
    )
  }
}

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import { RealEngine } from '../kit/real-engine.ts'
import { Endings, eventually } from '../kit/spawned.ts'
import { killFlows, killMessages, savedFlow } from './kill-flows.ts'
import { type Accepted, type Acknowledged, KillLoad } from './kill-load.ts'
import { storedStates } from './stored-states.ts'

export interface RoundFigures {
  round: number
  /** How long the load ran before the kill. */
  load_ms: number
  accepted: number
  saves: number
  users: number
  /** Accepted publishes that are not in the history. */
  lost: number
  /** Of those, the age of the oldest: from its answer to the kill. */
  lost_age_ms: number
  /** The longest synced write of the round. */
  commit_ms: number
  /** Accepted, in the history, not run, and dropped by the start: every other one has run once. */
  not_run: number
  interrupted: number
  start_ms: number
}

/** What one message's history held after the last round. */
interface Known {
  version: number
  ts: string | null
}

/**
 * Rounds over one data directory: start, look whether everything that the last round acknowledged is there, load, `kill -9`.
 *
 *   start -> check what the killed engine left -> publish, save -> kill -9 -> check the file -> start -> ...
 */
export class KillRounds {
  readonly #random: () => number
  readonly #data_dir: string
  readonly #longest_ms: number
  readonly #known = new Map<string, Known>(killMessages.map(message => [message, { version: 0, ts: null }]))
  readonly #users = new Set<string>()
  readonly #saves = new Map<string, { commit: string; number: number }>()
  #engine: RealEngine | null = null
  #life = new Endings()
  #round = 0
  #not_run = 0

  /** A load goes on for `longest_ms` at most before the kill, most of them for much less. */
  constructor(data_dir: string, random: () => number, longest_ms = 2400) {
    this.#random = random
    this.#data_dir = data_dir
    this.#longest_ms = longest_ms
  }

  /** Kills, starts again and checks. The figures of the round, once all of it held. */
  async round(): Promise<RoundFigures> {
    this.#round++
    this.#engine ??= await this.#first()
    const load = new KillLoad(this.#engine, this.#round, this.#random)
    // Some rounds last long enough for cascades to have an open record.
    const load_ms = 100 + this.#random() ** 2 * this.#longest_ms
    load.start()
    await new Promise(resolve => setTimeout(resolve, load_ms))
    const killed_ms = performance.now()
    await this.#engine.kill()
    await load.end()
    assert.deepEqual(load.refused, [])
    const states = storedStates(this.#data_dir)
    const from_ms = performance.now()
    this.#engine = await this.#start()
    const start_ms = performance.now() - from_ms
    const found = await this.#check(this.#engine, states, load.acknowledged, killed_ms)
    const { count, saves, users, commit_ms } = load.acknowledged
    return {
      round: this.#round,
      load_ms,
      accepted: count,
      saves: saves.size,
      users: users.length,
      commit_ms,
      start_ms,
      ...found,
    }
  }

  /** Ends the last engine in order. */
  async end(): Promise<void> {
    await this.#engine?.stop()
    await this.#life.end()
  }

  async #first(): Promise<RealEngine> {
    const engine = await this.#start()
    for (const [name, document] of Object.entries(killFlows)) await engine.save(name, document)
    return engine
  }

  async #start(): Promise<RealEngine> {
    await this.#life.end()
    this.#life = new Endings()
    return RealEngine.start(this.#life, { data_dir: this.#data_dir })
  }

  async #check(
    engine: RealEngine,
    states: Map<string, Record<string, unknown>>,
    acknowledged: Acknowledged,
    killed_ms: number,
  ) {
    await this.#checkStates(engine, states)
    await this.#checkDurable(engine, acknowledged)
    const { lost, lost_age_ms } = await this.#checkHistory(engine, acknowledged, killed_ms)
    const { not_run_after_restart } = await engine.flow('count')
    this.#not_run += not_run_after_restart
    const [accepted, made] = [this.#known.get('count.x')!.version, this.#known.get('count.n')!.version]
    assert.equal(
      made + this.#not_run,
      accepted,
      `of ${accepted} accepted ${made} have run, ${this.#not_run} are counted as not run`,
    )
    const running = await engine.ask('GET', '/cascades?status=running&limit=1000')
    const of_killed = running.json.items.filter((one: { started_at: string }) => one.started_at < started(engine))
    assert.deepEqual(of_killed, [], 'nothing of the killed engine is left running')
    assert.doesNotMatch(engine.log, /"event":"(defect|request_failed|uncaught_exception|engine_cannot_go_on)"/)
    // It is told once live flows run, a moment after the first answer.
    const start = await eventually('the start is told', async () =>
      (await engine.events('engine_started')).find(event => event.ts > started(engine)),
    )
    const interrupted = Number(start['interrupted'])
    return { lost, lost_age_ms, not_run: not_run_after_restart, interrupted }
  }

  /** Values and states are of one moment, and of the same one that the new engine shows. */
  async #checkStates(engine: RealEngine, states: Map<string, Record<string, unknown>>): Promise<void> {
    for (const flow of ['count', 'slot']) {
      const { version, value } = await engine.message(`${flow}.n`)
      assert.equal(
        value ?? 0,
        states.get(`${flow}.counter`)?.['n'] ?? 0,
        `${flow}: the counter said what its state says`,
      )
      assert.equal(value ?? 0, version, `${flow}: the counter never counted one twice or left one out`)
    }
    const last = await engine.message('chain.y')
    assert.equal(last.value, states.get('chain.c')?.['sum'] ?? null, 'the end of the chain said what its state says')
  }

  /** Saves and users that were answered are there, each as it was answered or as a later one left it. */
  async #checkDurable(engine: RealEngine, acknowledged: Acknowledged): Promise<void> {
    for (const [name, saved] of acknowledged.saves) this.#saves.set(name, saved)
    for (const name of acknowledged.users) this.#users.add(name)
    for (const [name, { commit, number }] of this.#saves) {
      const flow = await engine.flow(name)
      if (flow.commit === commit) assert.equal(sourceOf(flow.document), sourceOf(savedFlow(number)))
      const known = await engine.ask('GET', `/flows/${name}/history/${commit}`)
      assert.equal(known.status, 200, `the save ${commit} of ${name} was acknowledged`)
      assert.equal(sourceOf(known.json.document), sourceOf(savedFlow(number)))
    }
    const { json } = await engine.ask('GET', '/users?limit=1000')
    const names = new Set(json.items.map((user: { name: string }) => user.name))
    for (const name of [...this.#users].slice(-900)) assert.ok(names.has(name), `the user ${name} was acknowledged`)
  }

  /** No hole, every acknowledged value under its version, and only the newest lost. */
  async #checkHistory(engine: RealEngine, acknowledged: Acknowledged, killed_ms: number) {
    const lost: Accepted[] = []
    for (const message of killMessages) {
      const known = this.#known.get(message)!
      const points = await engine.pointsSince(message, known)
      let { version, ts } = known
      for (const point of points) {
        assert.equal(point.version, version + 1, `${message} has no hole behind version ${version}`)
        version = point.version
        ts = point.ts
      }
      const values = new Map(points.map(point => [point.version, point.value]))
      for (const accepted of acknowledged.published.get(message) ?? []) {
        if (accepted.version > version) lost.push(accepted)
        else assert.deepEqual(values.get(accepted.version), accepted.value, `${message} ${accepted.version}`)
      }
      const certain = acknowledged.certain.get(message) ?? 0
      assert.ok(version >= certain, `${message} ${certain} was on disk before a write behind it was answered`)
      this.#known.set(message, { version, ts })
    }
    const lost_age_ms = Math.max(0, ...lost.map(one => killed_ms - one.answered_ms))
    return { lost: lost.length, lost_age_ms }
  }
}

const sourceOf = (document: unknown): string => (document as FlowDocument).nodes[0]!.source ?? ''

const started = (engine: RealEngine): string =>
  JSON.parse(readFileSync(join(engine.data_dir, 'engine.json'), 'utf8')).started_at

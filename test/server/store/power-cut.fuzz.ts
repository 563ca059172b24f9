import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { test } from 'node:test'
import { v7 } from 'uuid'
import { KIND } from '../../../protocol/values/encoded.ts'
import { databaseFile } from '../../../server/store/file/database.ts'
import type { Answer, Damage } from '../../../server/store/front/replies.ts'
import type { ControlRequest, RunWrite } from '../../../server/store/front/requests.ts'
import type { EngineStore } from '../../../server/store/writer/engine-store.ts'
import { valueRecord } from '../../kit/journal-records.ts'
import { limitFiles } from '../../kit/mounted.ts'
import { openedQuietly } from '../../kit/opened-store.ts'
import { cutBetween, imageOf, writeImage } from '../../kit/power-cut.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { emptyDocument, saving, temporaryDirectory } from '../../kit/stored.ts'
import { claimOf, finishOf, newRun } from '../../kit/stored-runs.ts'

const ROUNDS = process.env['LONG'] ? 60 : 2
const STEPS = 50

/** What was acknowledged: versions of flows, statuses of runs, the newest version of the one message. */
interface Known {
  flows: Record<string, number>
  runs: Record<string, string>
  version: number
}

/** As a start finds it: what ran under the engine before has failed. */
const afterStart = ({ flows, runs, version }: Known): Known => ({
  flows,
  runs: Object.fromEntries(Object.entries(runs).map(([id, status]) => [id, status === 'running' ? 'failed' : status])),
  version,
})

function found({ db }: EngineStore): Known {
  const rows = <Row>(sql: string): Row[] => db.prepare(sql).all() as Row[]
  return {
    flows: Object.fromEntries(
      rows<{ name: string; version: number }>('SELECT name, version FROM flows ORDER BY name').map(
        ({ name, version }) => [name, version],
      ),
    ),
    runs: Object.fromEntries(
      rows<{ id: string; status: string }>('SELECT id, status FROM runs ORDER BY id').map(({ id, status }) => [
        id,
        status,
      ]),
    ),
    version: 0,
  }
}

/** Of the one message, as stored. */
const newest = ({ registry }: EngineStore): number =>
  [...registry.all()].find(series => series.name === 'f.x')?.last.version ?? 0

const sorted = (known: Known): Known => ({
  flows: Object.fromEntries(Object.entries(known.flows).sort(([a], [b]) => (a < b ? -1 : 1))),
  runs: Object.fromEntries(Object.entries(known.runs).sort(([a], [b]) => (a < b ? -1 : 1))),
  version: known.version,
})

// biome-ignore lint/suspicious/noThenProperty: the request has it
const alone = { progress: null, then: null }

/** One store, its model, and the steps that both take. */
class Simulation {
  readonly #random: () => number
  readonly #directory: () => string
  data_dir: string
  store: EngineStore
  epoch = 1
  known: Known = { flows: {}, runs: {}, version: 0 }
  #published = 0
  isFailing = false

  constructor(random: () => number, directory: () => string) {
    this.#random = random
    this.#directory = directory
    this.data_dir = directory()
    this.store = this.#open(this.data_dir)
  }

  #open(data_dir: string): EngineStore {
    const store = openedQuietly(
      data_dir,
      { log_rows: 4, direct_points: 40, chunk_points: 64, join_chunks: 4 },
      (damage: Damage) => assert.fail(JSON.stringify(damage)),
    )
    store.registry.register({ messages: [[0, 'f.x', 'float']], flows: [], nodes: [] })
    return store
  }

  /** One step, and whether it was acknowledged whole. */
  step(): void {
    if (this.#random() < 0.08) this.#fault()
    else this.#work()
  }

  /** What syncs once, and so is cut in one place only. */
  #work(): void {
    const what = this.#random()
    if (what < 0.2) this.#save()
    else if (what < 0.55) this.#runs()
    else if (what < 0.75) this.#publish()
    else if (what < 0.85) this.store.upkeep.checkpoint(0)
    else this.store.commit.upkeep(() => this.store.history.seal())
  }

  /** From here on no file grows past what it is; or it can again. */
  #fault(): void {
    this.isFailing = !this.isFailing
    limitFiles(this.isFailing ? statSync(databaseFile(this.data_dir)).size : null)
    if (!this.isFailing) {
      this.store.commit.probe()
      assert.equal(this.store.commit.isDown, false, 'it goes on when the disk does')
    }
  }

  #save(): void {
    const name = `f${Math.floor(this.#random() * 4)}`
    const document = {
      ...emptyDocument,
      inputs: [{ message: 'x', dtype: 'str' as const, default: 'x'.repeat(this.#random() * 20_000) }],
    }
    const [answer] = this.#commit([{ type: 'save_flow', save: saving(name, { document }) }])
    if ('result' in answer!) this.known.flows[name] = (answer.result as { version: number }).version
  }

  #publish(): void {
    const count = Math.ceil(this.#random() * 80)
    const first = this.#published + 1
    for (let i = 0; i < count; i++)
      this.store.intake.visit(
        valueRecord(0, ++this.#published, 1.7e15 + this.#published, { kind: KIND.float, number: i }),
      )
    this.store.commit.run(this.store.intake, [])
    if (newest(this.store) >= first) this.known.version = this.#published
  }

  #runs(): void {
    const ids = (status: string): string[] => Object.keys(this.known.runs).filter(id => this.known.runs[id] === status)
    const [queued, running] = [ids('queued'), ids('running')]
    const writes: RunWrite[] = []
    const next: Record<string, string> = {}
    for (let i = 0; i < 1 + this.#random() * 3; i++) {
      const what = this.#random()
      const [id, runs] = [queued.pop(), running.pop()]
      if (what < 0.3 && id !== undefined) {
        writes.push({ type: 'claim_run', claim: claimOf(id, { epoch: this.epoch }) })
        next[id] = 'running'
      } else if (what < 0.4 && id !== undefined) {
        writes.push({ type: 'cancel_run', id, at: 1e15 })
        next[id] = 'cancelled'
      } else if (what < 0.7 && runs !== undefined) {
        writes.push({ type: 'finish_run', finish: finishOf(runs, { epoch: this.epoch }), ...alone })
        next[runs] = 'succeeded'
      } else if (this.known.flows['f0'] !== undefined) {
        const run = newRun('f0', { id: v7(), inputs: { x: 'x'.repeat(this.#random() * 3000) } })
        writes.push({ type: 'create_run', run, event: null, at: Date.now() * 1000 })
        next[run.id] = 'queued'
      }
    }
    const waiting = writes.map((request, id) => ({ id, request, text: JSON.stringify(request) }))
    const kept = waiting.length > 0 && this.#random() < 0.8 ? this.store.commit.keep(waiting) : null
    const answers = kept ?? this.store.commit.run(this.store.intake, waiting)
    Object.values(next).forEach((status, at) => {
      if ('result' in answers[at]!) this.known.runs[Object.keys(next)[at]!] = status
    })
  }

  #commit(requests: ControlRequest[]): Answer[] {
    return this.store.commit.run(
      this.store.intake,
      requests.map((request, id) => ({ id, request })),
    )
  }

  /** A power cut in the middle of the next step, and a look at what the start after it finds: all of the step, or nothing. */
  crash(goOn: boolean): void {
    const [before, known] = [imageOf(this.data_dir), structuredClone(this.known)]
    const wasFailing = this.isFailing
    this.#work()
    const after = imageOf(this.data_dir)
    // While the disk fails each write is tried again by itself: between two of them is no half state to speak of.
    const isWhole = wasFailing || this.#random() < 0.3
    const left = this.#directory()
    limitFiles(null)
    writeImage(isWhole ? after : cutBetween(before, after, this.#random), left)
    const again = this.#open(left)
    const state = { ...found(again), version: newest(again) }
    const [old, now] = [sorted(afterStart(known)), sorted(afterStart(this.known))]
    const told = `seed ${seed}, ${wasFailing ? 'failing, ' : ''}${isWhole ? 'whole' : 'cut'}`
    if (isWhole) assert.deepEqual(sorted(state), now, told)
    else
      assert.ok(
        [old, now].some(one => isSame(one, sorted(state))),
        `${told}: ${JSON.stringify({ old, now, state }, null, 1)}`,
      )
    assert.equal(again.db.pragma('integrity_check', { simple: true }), 'ok')
    assert.deepEqual(
      again.db.prepare('SELECT status, count FROM run_counts WHERE flow = 0 AND count > 0 ORDER BY status').all(),
      again.db.prepare('SELECT status, count(*) AS count FROM runs GROUP BY status ORDER BY status').all(),
    )
    if (!goOn) {
      again.close()
      if (this.isFailing) limitFiles(statSync(databaseFile(this.data_dir)).size)
      return
    }
    this.store.db.close()
    this.store = again
    this.data_dir = left
    this.isFailing = false
    this.epoch = again.loaded.engine_epoch
    this.known = state
    this.#published = state.version
  }

  close(): void {
    limitFiles(null)
    this.store.commit.probe()
    this.store.close()
  }
}

const isSame = (one: Known, other: Known): boolean => {
  try {
    assert.deepEqual(one, other)
    return true
  } catch {
    return false
  }
}

test(`whatever fails and wherever the power goes, what was acknowledged is there, and no step by half (SEED=${seed})`, t => {
  if (!limitFiles(null)) return t.skip('needs prlimit')
  t.after(() => limitFiles(null))
  const random = randomFrom(seed)
  for (let round = 0; round < ROUNDS; round++) {
    const simulation = new Simulation(random, () => temporaryDirectory(t))
    for (let step = 0; step < STEPS; step++) {
      if (random() < 0.3) simulation.crash(random() < 0.4)
      else simulation.step()
    }
    simulation.close()
    const store = openedQuietly(simulation.data_dir, {}, damage => assert.fail(JSON.stringify(damage)))
    assert.deepEqual(sorted(found(store)).flows, sorted(simulation.known).flows)
    store.close()
  }
})

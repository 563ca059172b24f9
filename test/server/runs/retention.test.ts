import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { limits } from '../../../protocol/limits.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import { type RetentionRules, RunRetention } from '../../../server/runs/retention.ts'
import { databaseFile } from '../../../server/store/file/database.ts'
import { RETAINED } from '../../../server/store/front/retention.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { eventually } from '../../kit/spawned.ts'
import { saving, startStore, temporaryDirectory } from '../../kit/stored.ts'
import { claimOf, curve, finishOf, newRun, nodeRow, progressOf, ranRun } from '../../kit/stored-runs.ts'

const DAY_US = 86_400_000_000
const NOW_US = 1_800_000_000_000_000
const NONE = { days: 0, bytes: 0, count: 0 }
const nothing: RetentionRules = { runs: NONE, run_logs: NONE, run_metrics: NONE }
const LOG = { lines: 3, dropped: 0 }

/** A store with one flow, and the retention over it. */
async function stored(t: TestContext) {
  const data_dir = temporaryDirectory(t)
  const started = await startStore(t, data_dir)
  const { store } = started
  await store.saveFlow(saving('f'))
  const told: EngineEvent[] = []
  const executing = new Map<string, string>()
  const steps: number[] = []
  const retained = (rules: Partial<RetentionRules>): RunRetention =>
    new RunRetention({
      rules: { ...nothing, ...rules },
      store: {
        ...store.retention,
        remove: (of, ids) => {
          steps.push(ids.length)
          return store.retention.remove(of, ids)
        },
      },
      leaveCache: () => () => {},
      reuser: id => executing.get(id) ?? null,
      age_us: () => NOW_US,
      tell: event => void told.push(event),
      failed: error => assert.fail(String(error)),
    })
  const look = new Database(databaseFile(data_dir), { readonly: true })
  t.after(() => look.close())
  const one = (sql: string): number => look.prepare(sql).pluck().get() as number
  const counted = () =>
    eventually('all runs that have ended are counted', async () => {
      await store.flush()
      return one('SELECT count(*) FROM runs WHERE finished_at IS NOT NULL AND bytes IS NULL') === 0
    })
  /** A run that has ended so many days ago, with a log and a curve; `of` is the run whose node it reuses. */
  const ran = async (days: number, of: string | null = null, points = 10): Promise<string> => {
    const run = newRun('f', { inputs: { x: 'a'.repeat(5_000) } })
    const chunk = { first: 1, count: LOG.lines, from_us: NOW_US, size: 100, lines: 'line '.repeat(20) }
    const node =
      of === null ? nodeRow('fit', { cache_key: run.id }) : nodeRow('fit', { status: 'cached', cached_from: of })
    await ranRun(
      store.runs,
      run,
      { nodes: [node], metrics: of === null ? curve('fit.loss', points) : [], log: { chunks: [chunk], dropped: 0 } },
      { finished_at: NOW_US - days * DAY_US },
    )
    return run.id
  }
  const kept = async (): Promise<string[]> => {
    await store.flush()
    return look.prepare('SELECT id FROM runs ORDER BY seq').pluck().all() as string[]
  }
  return { ...started, data_dir, retained, told, executing, steps, one, counted, ran, kept }
}

/** What is counted of each class is what is there. */
function assertCounted(one: (sql: string) => number): void {
  const is = (of: string): number => one(`SELECT coalesce((SELECT bytes FROM disk WHERE class = '${of}'), 0)`)
  assert.equal(is('runs'), one('SELECT coalesce(sum(bytes), 0) FROM runs'))
  assert.equal(is('run_logs'), one('SELECT coalesce(sum(bytes), 0) FROM run_logs'))
  assert.equal(is('run_metrics'), one('SELECT coalesce(sum(16 * points + 64 * chunks), 0) FROM run_metrics'))
}

test('without rules no run goes, however old', async t => {
  const { ran, counted, retained, kept, told } = await stored(t)
  await ran(10_000)
  await counted()
  await retained({}).pass()
  assert.equal((await kept()).length, 1)
  assert.deepEqual(told, [])
})

test('runs that ended too long ago go with all that belongs to them, in small steps, and are told of in one event', async t => {
  const { ran, counted, retained, kept, told, steps, one, store } = await stored(t)
  const old: string[] = []
  for (let i = 0; i < limits.RETENTION_RUNS + 10; i++) old.push(await ran(31))
  const young = await ran(29)
  await store.runs.create(newRun('f', { id: 'waits' }), null)
  await counted()
  await retained({ runs: { ...NONE, days: 30 } }).pass()
  assert.deepEqual(await kept(), [young, 'waits'])
  assert.deepEqual(steps, [limits.RETENTION_RUNS, 10])
  for (const table of ['run_nodes', 'run_metrics', 'metric_chunks', 'run_logs', 'run_log_chunks'])
    assert.equal(one(`SELECT count(*) FROM ${table} WHERE run NOT IN (SELECT seq FROM runs)`), 0, table)
  assertCounted(one)
  const [event, ...others] = told
  assert.deepEqual(others, [])
  const range = { count: old.length, first: old[0], last: old.at(-1) }
  assert.partialDeepStrictEqual(event, { type: 'audit', action: 'runs_removed', actor: null, object: 'runs', ...range })
  const query = { limit: 10, offset: 0, flow: null, type: 'audit', since: null, until: null, audit: true }
  assert.deepEqual((await store.events(query)).items, [event])
})

test('a run that is reused stays until the runs that reuse it have gone', async t => {
  const { ran, counted, retained, kept, executing } = await stored(t)
  const origin = await ran(40)
  const reuser = await ran(20, origin)
  const executed = await ran(40)
  executing.set(executed, 'a run that executes')
  await counted()
  await retained({ runs: { ...NONE, days: 30 } }).pass()
  assert.deepEqual(await kept(), [origin, reuser, executed])
  executing.clear()
  await retained({ runs: { ...NONE, days: 10 } }).pass()
  await retained({ runs: { ...NONE, days: 10 } }).pass()
  assert.deepEqual(await kept(), [])
})

test('logs and metrics over their budgets go, the oldest first, and their runs say so', async t => {
  const { ran, counted, retained, kept, told, one, store } = await stored(t)
  const runs: string[] = []
  for (let i = 0; i < 6; i++) runs.push(await ran(6 - i, null, 100))
  await counted()
  const log_bytes = one("SELECT bytes FROM disk WHERE class = 'run_logs'")
  const metric_bytes = one("SELECT bytes FROM disk WHERE class = 'run_metrics'")
  const half = { run_logs: { ...NONE, bytes: log_bytes / 2 }, run_metrics: { ...NONE, bytes: metric_bytes / 3 } }
  await retained(half).pass()
  assert.equal((await kept()).length, 6)
  assertCounted(one)
  assert.equal(one("SELECT bytes FROM disk WHERE class = 'run_logs'"), log_bytes / 2)
  assert.equal(one("SELECT bytes FROM disk WHERE class = 'run_metrics'"), metric_bytes / 3)
  const page = await store.logs.log({ run: runs[0]!, after: 0, limit: 10, bytes: 1000, node: null, level: null })
  assert.deepEqual(page, { run: runs[0], items: [], next_after: null, dropped: LOG.lines })
  const dropped = async (run: string) => (await store.runs.nodes(run))[0]!.metrics_dropped
  assert.deepEqual([await dropped(runs[0]!), await dropped(runs[5]!)], [100, 0])
  const selection = { flow: null, group: null, status: null, since: null, before: null }
  assert.deepEqual((await store.runs.metricNames(selection)).names, ['f.fit.loss'])
  assert.deepEqual(
    told.map(({ action, count }) => [action, count]),
    [
      ['run_logs_removed', 3],
      ['run_metrics_removed', 4],
    ],
  )
})

test('what an engine removed before it was killed is told by the next start', async t => {
  const { ran, counted, close, data_dir, store } = await stored(t)
  const id = await ran(40)
  await counted()
  assert.equal(await store.retention.remove('runs', [id]), 1)
  await close()
  const again = await startStore(t, data_dir)
  const query = { limit: 10, offset: 0, flow: null, type: 'audit', since: null, until: null, audit: true }
  assert.partialDeepStrictEqual((await again.store.events(query)).items, [
    { action: 'runs_removed', count: 1, first: id },
  ])
  assert.deepEqual(await again.store.retention.tell(), [])
})

test(`whatever the rules, what must stay stays and what may go goes (seed ${seed})`, async t => {
  const random = randomFrom(seed)
  const upTo = (most: number): number => Math.floor(random() * most)
  const { ran, counted, retained, kept, told, one, store } = await stored(t)
  interface Modelled {
    id: string
    days: number
    of: string | null
    isLive: boolean
  }
  let model: Modelled[] = []
  let gone = 0
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 40; i++) {
      if (random() < 0.1) {
        const run = newRun('f')
        await store.runs.create(run, null)
        if (random() < 0.5) await store.runs.claim(claimOf(run.id, { started_at: NOW_US - 90 * DAY_US }))
        model.push({ id: run.id, days: 0, of: null, isLive: true })
        continue
      }
      const origins = model.filter(({ of, isLive }) => of === null && !isLive)
      const of = origins.length > 0 && random() < 0.4 ? origins[upTo(origins.length)]!.id : null
      const days = upTo(100)
      model.push({ id: await ran(days, of, 1 + upTo(50)), days, of, isLive: false })
    }
    // Some that waited end now.
    for (const run of model.filter(({ isLive }) => isLive && random() < 0.3)) {
      await store.runs.claim(claimOf(run.id))
      const { finished } = await store.runs.finish(finishOf(run.id, { finished_at: NOW_US }), progressOf(run.id), null)
      run.isLive = !finished
    }
    await counted()
    const days = random() < 0.5 ? 20 + upTo(80) : 0
    const count = random() < 0.5 ? 5 + upTo(60) : 0
    const bytes = random() < 0.3 ? 10_000 + upTo(300_000) : 0
    const metrics = { days: random() < 0.5 ? 10 + upTo(90) : 0, bytes: 0, count: 0 }
    const retention = retained({ runs: { days, bytes, count }, run_metrics: metrics })
    const said = JSON.stringify({ round, days, count, bytes })
    // An origin whose reusers went goes one pass later.
    for (let pass = 0; pass < 3; pass++) await retention.pass()
    const ids = new Set(await kept())
    const isReused = (run: Modelled): boolean => model.some(({ id, of }) => of === run.id && ids.has(id))
    const ended = model.filter(({ id, isLive }) => ids.has(id) && !isLive)
    for (const run of model) {
      if (run.isLive) assert.ok(ids.has(run.id), `a live run is kept: ${said}`)
      if (isReused(run)) assert.ok(ids.has(run.id), `a reused run is kept: ${said}`)
      if (count === 0 && bytes === 0 && run.days <= days) assert.ok(ids.has(run.id), `a young run is kept: ${said}`)
      if (days > 0 && run.days > days && ids.has(run.id))
        assert.ok(run.isLive || isReused(run), `an old one goes: ${said}`)
    }
    if (days === 0 && count === 0 && bytes === 0) assert.equal(ids.size, model.length, said)
    const mayGo = ended.filter(run => !isReused(run))
    if (count > 0) assert.ok(ended.length <= count || mayGo.length === 0, `${ended.length} are kept: ${said}`)
    if (bytes > 0) assert.ok(one("SELECT bytes FROM disk WHERE class = 'runs'") <= bytes || mayGo.length === 0, said)
    assertCounted(one)
    const without = 'WHERE run NOT IN (SELECT seq FROM runs)'
    for (const table of ['run_nodes', 'run_metrics', 'metric_chunks', 'run_logs', 'run_documents'])
      assert.equal(one(`SELECT count(*) FROM ${table} ${without}`), 0, `${table}: ${said}`)
    assert.equal(one("SELECT count FROM run_counts WHERE flow = 0 AND status = 'succeeded'"), ended.length, said)
    gone += model.length - ids.size
    model = model.filter(({ id }) => ids.has(id))
  }
  const counts = told.filter(({ action }) => action === 'runs_removed').map(({ count }) => count as number)
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    gone,
    'each is told of once',
  )
  assert.equal(RETAINED.length, 3)
})

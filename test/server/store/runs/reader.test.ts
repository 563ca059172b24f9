import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../protocol/limits.ts'
import { formatTime } from '../../../../protocol/time.ts'
import { type Connection, databaseFile, openReader } from '../../../../server/store/file/database.ts'
import type { RunPage, RunSelection } from '../../../../server/store/front/runs.ts'
import { RunSelections } from '../../../../server/store/runs/selection.ts'
import { opened } from '../../../kit/opened-store.ts'
import { saving, startStore, temporaryDirectory } from '../../../kit/stored.ts'
import { claimOf, created, everyRun, finishOf, newRun, nodeRow, ranRun } from '../../../kit/stored-runs.ts'

const page = (more: Partial<RunPage> = {}): RunPage => ({ ...everyRun, limit: 100, offset: 0, ...more })

test('runs are listed newest first, by flow, group, status and times, in pages', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  for (const flow of ['boiler', 'kettle']) await store.saveFlow(saving(flow))
  const ids: string[] = []
  const times: number[] = []
  for (let i = 0; i < 8; i++) {
    const run = newRun(i % 2 === 0 ? 'boiler' : 'kettle', {
      groups: i < 4 ? ['sweep'] : [],
      tags: i % 3 === 0 ? ['t', 'third'] : ['t'],
    })
    const { created_at } = (await created(store.runs, run)).run
    ids.push(run.id)
    times.push(created_at)
  }
  for (const i of [0, 1, 4]) await store.runs.claim(claimOf(ids[i]!))
  const listed = async (more: Partial<RunPage>): Promise<[number[], number]> => {
    const { items, count } = await store.runs.list(page(more))
    return [items.map(({ id }) => ids.indexOf(id)), count]
  }
  assert.deepEqual(await listed({}), [[7, 6, 5, 4, 3, 2, 1, 0], 8])
  assert.deepEqual(await listed({ limit: 2, offset: 1 }), [[6, 5], 8])
  assert.deepEqual(await listed({ flow: 'kettle' }), [[7, 5, 3, 1], 4])
  assert.deepEqual(await listed({ status: 'running' }), [[4, 1, 0], 3])
  assert.deepEqual(await listed({ flow: 'boiler', status: 'running', limit: 1 }), [[4], 2])
  assert.deepEqual(await listed({ group: 'sweep' }), [[3, 2, 1, 0], 4])
  assert.deepEqual(await listed({ group: 'sweep', flow: 'boiler', status: 'running' }), [[0], 1])
  assert.deepEqual(await listed({ since: times[2]!, before: times[5]!, limit: 2 }), [[4, 3], 3])
  assert.deepEqual(await listed({ flow: 'kettle', before: times[5]! }), [[3, 1], 2])
  assert.deepEqual(await listed({ flow: 'boiler', status: 'queued', since: times[3]! }), [[6], 1])
  assert.deepEqual(await listed({ status: 'queued', since: times[3]!, offset: 3 }), [[3], 4])
  assert.deepEqual(await listed({ tags: ['third'] }), [[6, 3, 0], 3])
  assert.deepEqual(await listed({ tags: ['t', 'third'], limit: 1, offset: 1 }), [[3], 3])
  assert.deepEqual(await listed({ tags: ['third'], group: 'sweep' }), [[3, 0], 2])
  assert.deepEqual(await listed({ tags: ['third', 'none'], group: 'sweep' }), [[], 0])
  assert.deepEqual(await listed({ tags: ['third'], flow: 'boiler', status: 'queued', since: times[1]! }), [[6], 1])
  assert.deepEqual(await listed({ flow: 'nowhere' }), [[], 0])
  assert.deepEqual(await listed({ group: 'nothing' }), [[], 0])
  assert.deepEqual(await listed({ offset: 8 }), [[], 8])
  assert.deepEqual((await store.runs.list(page({ limit: 1 }))).counts, {
    boiler: { total: 4, live: 4 },
    kettle: { total: 4, live: 4 },
  })
})

test('a list counts the runs of so many flows at most, those with live runs first, and all of them together', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  const flows = Array.from({ length: 6_000 }, (_, at) => `flow_with_a_name_of_usual_length_${at}`)
  for (let at = 0; at < flows.length; at += 500) {
    const some = flows.slice(at, at + 500)
    await Promise.all(some.map(name => store.saveFlow(saving(name))))
    await Promise.all(some.map(name => store.runs.create(newRun(name), null)))
  }
  const ended = flows[5_999]!
  const [run] = (await store.runs.list(page({ flow: ended, limit: 1 }))).items
  await store.runs.claim(claimOf(run!.id))
  await store.runs.finish(finishOf(run!.id), null, null)
  const list = await store.runs.list(page({ limit: 1_000 }))
  assert.deepEqual(list.totals, { flows: 6_000, total: 6_000, live: 5_999 })
  assert.equal(Object.keys(list.counts).length, limits.RUN_COUNTS)
  assert.ok(Object.values(list.counts).every(({ live }) => live === 1))
  assert.ok(list.items.length > 100, `${list.items.length} runs beside the counts`)
  assert.ok(JSON.stringify(list).length <= limits.LIST_BYTES)
  const asked = await store.runs.list(page({ flow: ended }))
  assert.deepEqual([asked.counts[ended], asked.count], [{ total: 1, live: 0 }, 1])
})

test('runs are found by the beginning of their id or of its last group, by indexes', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const ids = ['aa11', 'aa22', 'bb33'].map((last, at) => `0195a3c${at}-7b10-7cc2-9d54-${last}6a9b0c11`)
  for (const id of ids) await store.runs.create(newRun('boiler', { id }), null)
  const found = async (text: string, most = 9) => (await store.runs.idsFrom(text, most)).map(id => ids.indexOf(id))
  assert.deepEqual(await found('aa11'), [0])
  assert.deepEqual(await found('aa'), [0, 1])
  assert.deepEqual(await found('aa', 1), [0])
  assert.deepEqual(await found('0195a3c'), [0, 1, 2])
  assert.deepEqual(await found('0195a3c2-7b'), [2])
  assert.deepEqual(await found(ids[2]!), [2])
  assert.deepEqual(await found('a11'), [], 'not from the middle')
  assert.deepEqual(await found('%'), [])
})

/** What SQLite does for each statement that is run from now on, and what it is given. */
function watchPlans(db: Connection): { steps: string[]; values: unknown[] }[] {
  const plans: { steps: string[]; values: unknown[] }[] = []
  const prepare = db.prepare.bind(db)
  db.prepare = ((sql: string) => {
    const statement = prepare(sql)
    const explained = prepare(`EXPLAIN QUERY PLAN ${sql}`)
    for (const method of ['all', 'get'] as const) {
      const run = statement[method].bind(statement)
      statement[method] = ((...values: unknown[]) => {
        const steps = (explained.all(...values) as { detail: string }[]).map(({ detail }) => detail)
        plans.push({ steps, values })
        return run(...values)
      }) as never
    }
    return statement
  }) as never
  return plans
}

test('a page of runs is read off an index, and what is not counted as it changes is counted within one', t => {
  const data_dir = temporaryDirectory(t)
  opened(data_dir).close()
  const db = openReader(databaseFile(data_dir))
  t.after(() => db.close())
  const plans = watchPlans(db)
  const selected = new RunSelections(db)
  const times = [
    [null, null],
    [1, null],
    [1, 2],
  ] as const
  for (const flow of [null, 'boiler']) {
    for (const status of [null, 'queued'] as const) {
      for (const group of [null, 'sweep']) {
        for (const [since, before] of times) {
          const selection: RunSelection = { flow, status, group, since, before }
          plans.length = 0
          selected.page(selection, 50, 0)
          const stepsOf = () => plans.splice(0).flatMap(({ steps }) => steps)
          const paging = stepsOf().filter(step => / r /.test(step))
          selected.count(selection)
          const steps = stepsOf()
          const counting = steps.filter(step => /^(SCAN|SEARCH) (r|run_counts) /.test(step))
          const told = `${JSON.stringify(selection)}: ${[...paging, '|', ...steps].join('; ')}`
          // Those that joined the group are found by its own index, and their rows are read for flow and status alone.
          const joined = group === null || (flow === null && status === null) ? 0 : 1
          assert.equal(paging.length, 2 + joined, told)
          assert.match(paging.join(), /r USING COVERING INDEX runs_/, told)
          assert.match(paging.join(), /SEARCH r USING INTEGER PRIMARY KEY/, told)
          assert.equal(counting.length, 1 + joined, told)
          if (group !== null) assert.match(told, /SEARCH g USING PRIMARY KEY \(grouped=\?/, told)
          const isKept = group === null && since === null
          assert.match(
            counting[0]!,
            isKept ? /^SEARCH run_counts USING PRIMARY KEY/ : /^SEARCH r USING COVERING INDEX runs_/,
            told,
          )
          assert.doesNotMatch(told, /TEMP B-TREE/)
        }
      }
    }
  }
})

test('a stage-cache key is found in the newest run that executed it, also one that has failed since', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const outputs = (value: number) => [{ port: 'y', message: 'y', value, count: 1, digest: `d${value}` }]
  const origin = (key: string, value: number) => nodeRow('smooth', { cache_key: key, outputs: outputs(value) })
  await ranRun(store.runs, newRun('boiler'), { nodes: [origin('k1', 1)] })
  const second = await ranRun(
    store.runs,
    newRun('boiler'),
    { nodes: [origin('k1', 2), nodeRow('plain', { position: 1 })] },
    { status: 'failed' },
  )
  await ranRun(store.runs, newRun('boiler'), {
    nodes: [
      { ...origin('k1', 3), status: 'cached', cached_from: second.id },
      { ...origin('k2', 4), node: 'b', status: 'failed' },
    ],
  })
  const third = await ranRun(store.runs, newRun('boiler'), {
    nodes: [origin('k3', 5), { ...origin('k4', 6), node: 'other', emissions: 2, executions: 1 }],
  })
  const found = (key: string, run: string, node: string, value: number, emissions = 1) => ({
    key,
    run,
    flow: 'boiler',
    node,
    emissions,
    outputs: outputs(value),
  })
  const k1 = found('k1', second.id, 'smooth', 2)
  const k3 = found('k3', third.id, 'smooth', 5)
  const k4 = found('k4', third.id, 'other', 6, 2)
  assert.deepEqual(await store.runs.cached(['k4', 'k2', 'none', 'k1']), [k4, k1])
  assert.deepEqual(await store.runs.cached([]), [])
  assert.deepEqual(await store.runs.cacheIndex(10, 1e6), { origins: [k3, k4, k1], complete: true })
  assert.deepEqual(await store.runs.cacheIndex(2, 1e6), { origins: [k3, k4], complete: false })
  assert.deepEqual(await store.runs.cacheIndex(10, 1), { origins: [k3], complete: false })
  await store.renameFlow({ from: 'boiler', to: 'kettle', rewritten: [], author: 'ada' })
  assert.equal((await store.runs.cached(['k1']))[0]!.flow, 'kettle')
})

test('an index of many keys comes whole, whatever the pages that it is read in', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const keys = (run: number) =>
    Array.from({ length: 900 }, (_, i) =>
      nodeRow(`n${String(i).padStart(3, '0')}`, { position: i, cache_key: `k${i % 700}-${run % 4}` }),
    )
  for (let run = 0; run < 6; run++) await ranRun(store.runs, newRun('boiler'), { nodes: keys(run) })
  const { origins, complete } = await store.runs.cacheIndex(100_000, 1e9)
  assert.equal(complete, true)
  assert.equal(origins.length, 2800)
  assert.equal(new Set(origins.map(({ key }) => key)).size, 2800)
  assert.deepEqual(
    await store.runs.cached(origins.map(({ key }) => key)),
    origins,
    'each is the newest of its key, as when it is asked for alone',
  )
})

test('the nearest run is the one before it in which the same node had the most parts in common', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  for (const flow of ['boiler', 'kettle']) await store.saveFlow(saving(flow))
  const withParts = (settings: string, x: string) => ({
    nodes: [nodeRow('smooth', { parts: { settings, 'values.x': x } })],
  })
  await ranRun(store.runs, newRun('boiler'), withParts('1', 'a'))
  const near = await ranRun(store.runs, newRun('boiler'), withParts('1', 'a'))
  await ranRun(store.runs, newRun('boiler'), withParts('2', 'b'))
  await ranRun(store.runs, newRun('boiler'), { nodes: [nodeRow('smooth'), nodeRow('raw', { parts: {} })] })
  await ranRun(store.runs, newRun('kettle'), withParts('1', 'c'))
  const run = await ranRun(store.runs, newRun('boiler'), withParts('1', 'c'))
  await ranRun(store.runs, newRun('boiler'), withParts('1', 'c'))
  const parts = { settings: '1', 'values.x': 'c' }
  assert.deepEqual(await store.runs.nearest(run.id, 'smooth', parts), { run: near.id, changed: ['values.x'] })
  assert.equal(await store.runs.nearest(run.id, 'none', parts), null)
  assert.equal(await store.runs.nearest('none', 'smooth', parts), null)
})

test('events that happened in a run are found by it', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  const at = (n: number) => formatTime(1.7e15 + n)
  store.event({ type: 'run_started', ts: at(0), flow: 'boiler', run: 'r1', attempt: 1 })
  store.event({ type: 'run_started', ts: at(1), flow: 'boiler', run: 'r2' })
  store.event({ type: 'flow_saved', ts: at(2), flow: 'boiler', run: null })
  store.event({ type: 'run_finished', ts: at(3), flow: 'boiler', run: 'r1' })
  const nobody = { flow: null, type: null, since: null, until: null, limit: 100, offset: 0 }
  const of = await store.events({ ...nobody, run: 'r1' })
  assert.deepEqual(of, {
    count: 2,
    items: [
      { type: 'run_finished', ts: at(3), flow: 'boiler', run: 'r1' },
      { type: 'run_started', ts: at(0), flow: 'boiler', run: 'r1', attempt: 1 },
    ],
  })
  assert.deepEqual(
    (await store.events(nobody)).items.map(({ run }) => run),
    ['r1', null, 'r2', 'r1'],
  )
})

test('runs are found by the rarest of their tags, or by their flow where it has fewer; rows are read for flow and status alone', async t => {
  const data_dir = temporaryDirectory(t)
  const { store } = await startStore(t, data_dir)
  for (const flow of ['boiler', 'kettle']) await store.saveFlow(saving(flow))
  for (const [flow, ...tags] of [
    ['boiler', 'common'],
    ['boiler', 'common', 'rare'],
    ['kettle', 'common', 'rare'],
    ['boiler', 'common'],
    ['boiler'],
  ] as const)
    await created(store.runs, newRun(flow, { tags: [...tags] }))
  const db = openReader(databaseFile(data_dir))
  t.after(() => db.close())
  const plans = watchPlans(db)
  const selected = new RunSelections(db)
  const count = (more: Partial<RunSelection>): { runs: number; first: unknown; told: string } => {
    const selection = { ...everyRun, ...more }
    const runs = selected.count(selection)
    const { steps, values } = plans.splice(0).at(-1)!
    assert.equal(selected.page(selection, 50, 0).length, runs)
    return { runs, first: values[0], told: steps.join('; ') }
  }
  const one = count({ tags: ['common'] })
  assert.equal(one.runs, 4)
  assert.match(one.told, /SEARCH t USING PRIMARY KEY \(tag=\?\)/)
  assert.doesNotMatch(one.told, / r /)
  assert.match(count({ tags: ['common'], since: 1 }).told, /SEARCH t USING PRIMARY KEY \(tag=\? AND created_at>\?\)/)
  for (const tags of [
    ['rare', 'common'],
    ['common', 'rare'],
  ])
    assert.deepEqual([count({ tags }).runs, count({ tags }).first], [2, 'rare'])
  const both = count({ tags: ['common'], flow: 'kettle' })
  assert.equal(both.runs, 1)
  assert.match(both.told, /SEARCH r USING COVERING INDEX runs_of_flow /)
  assert.doesNotMatch(both.told, /SEARCH t /)
  assert.match(
    count({ tags: ['rare'], flow: 'boiler' }).told,
    /SEARCH t USING PRIMARY KEY.*SEARCH r USING INTEGER PRIMARY/,
  )
})

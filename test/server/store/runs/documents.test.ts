import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../protocol/limits.ts'
import type { Run, RunNode } from '../../../../protocol/nouns/run.ts'
import { databaseFile, openReader } from '../../../../server/store/file/database.ts'
import type { JsonText, RunPage, StoredRunList } from '../../../../server/store/front/runs.ts'
import { RunCurves } from '../../../../server/store/runs/curves.ts'
import { RunReader } from '../../../../server/store/runs/reader.ts'
import { RunSelections } from '../../../../server/store/runs/selection.ts'
import { opened, settle } from '../../../kit/opened-store.ts'
import { saving, startStore, temporaryDirectory } from '../../../kit/stored.ts'
import { everyRun, newRun, nodeRow, ranRun, textOf } from '../../../kit/stored-runs.ts'

const page = (more: Partial<RunPage> = {}): RunPage => ({ ...everyRun, limit: 100, offset: 0, ...more })
const whole = async (text: JsonText): Promise<unknown> =>
  JSON.parse(text instanceof Uint8Array ? Buffer.from(text).toString() : await textOf(text))

/** Characters of one to four bytes, quotes and backslashes: none may be cut in two where a piece ends. */
const longText = (characters: number): string => 'aé€😀"\\\n'.repeat(characters / 8)

test('a long value of a run stands beside its row, and is read as it was written', async t => {
  const data_dir = temporaryDirectory(t)
  const { store } = await startStore(t, data_dir)
  await store.saveFlow(saving('boiler'))
  const inputs = { note: longText(200_000), rate: 0.5 }
  const result = { curve: Array.from({ length: 50_000 }, (_, at) => at / 8), loss: 0.25, ok: true }
  const outputs = [
    { port: 'y', message: 'curve', value: result.curve, count: 1, digest: 'd' },
    { port: 'z', message: 'loss', value: 0.25, count: 1, digest: 'e' },
  ]
  const node = nodeRow('fit', { cache_key: 'k1', parts: {}, outputs })
  const run = await ranRun(store.runs, newRun('boiler', { inputs, resolved: inputs }), { nodes: [node] }, { result })
  assert.deepEqual([run.inputs, run.resolved, run.result], [inputs, inputs, result])

  const text = await store.runs.runText(run.id)
  assert.ok(text !== null && !(text instanceof Uint8Array), 'it comes in pages')
  const shown = (await whole(text)) as Run
  assert.deepEqual([shown.id, shown.inputs, shown.inputs_resolved, shown.result], [run.id, inputs, inputs, result])

  const nodes = (await whole(await store.runs.nodesText(run.id))) as { items: RunNode[]; count: number }
  assert.equal(nodes.count, 1)
  assert.deepEqual(nodes.items[0]!.outputs, { 'boiler.curve': result.curve, 'boiler.loss': 0.25 })
  assert.deepEqual((await store.runs.nodes(run.id))[0]!.outputs, outputs)
  assert.deepEqual((await store.runs.cached(['k1']))[0]!.outputs, outputs, 'the stage cache finds the whole value')
  assert.deepEqual(await store.runs.inputs(run.id), inputs)
  assert.deepEqual(await store.runs.output(run.id, 'loss'), { has_result: true, value: 0.25 })
  assert.deepEqual(await store.runs.output(run.id, 'none'), { has_result: true, value: undefined })

  const db = openReader(databaseFile(data_dir))
  t.after(() => db.close())
  const lengths = db
    .prepare('SELECT octet_length(inputs), octet_length(resolved), octet_length(result) FROM runs')
    .raw()
  assert.deepEqual(lengths.all(), [[0, 0, 0]], 'nothing of it is in the row')
})

test('a list shows numbers, booleans and short texts of a run, and says what it leaves out', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const result = {
    loss: 0.25,
    best: { epoch: 3, weights: [1, 2] },
    ok: true,
    name: 'tree',
    log: longText(9_000),
    none: null,
  }
  const long = await ranRun(store.runs, newRun('boiler', { inputs: { rate: 1 } }), {}, { result })
  const short = await ranRun(
    store.runs,
    newRun('boiler', { inputs: { rate: 2, list: [1] } }),
    {},
    { result: { loss: 1 } },
  )
  const plain = await ranRun(store.runs, newRun('boiler', { inputs: { rate: 3 } }), {}, { result: { loss: 2 } })
  const message = 'the oven is cold; '.repeat(40)
  const error = { code: 'node_error', message, node: 'fit', stack: 'at fit' }
  const failed = await ranRun(store.runs, newRun('boiler'), {}, { status: 'failed', result: null, error })
  const { items } = await store.runs.list(page())
  assert.deepEqual(
    items.map(({ id, inputs, result, truncated }) => ({ id, inputs, result, truncated })),
    [
      { id: failed.id, inputs: {}, result: null, truncated: true },
      { id: plain.id, inputs: { rate: 3 }, result: { loss: 2 }, truncated: false },
      { id: short.id, inputs: { rate: 2 }, result: { loss: 1 }, truncated: true },
      {
        id: long.id,
        inputs: { rate: 1 },
        result: { loss: 0.25, best: { epoch: 3 }, ok: true, name: 'tree', none: null },
        truncated: true,
      },
    ],
  )
  assert.deepEqual(items[0]!.error, {
    code: 'node_error',
    message: message.slice(0, limits.RUN_SUMMARY_ERROR_CHARACTERS),
    node: 'fit',
  })
})

test('a page of runs ends where it would be longer than a list may be, and says where the next one begins', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const wide = (of: number) => Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`column${at}`, of + at]))
  const ids: string[] = []
  for (let at = 0; at < 150; at++)
    ids.unshift((await ranRun(store.runs, newRun('boiler', { inputs: wide(at) }), {}, { result: wide(at) })).id)
  const found: string[] = []
  let pages = 0
  for (let offset: number | undefined = 0; offset !== undefined; pages++) {
    const { items, count, next }: Awaited<ReturnType<typeof store.runs.list>> = await store.runs.list(
      page({ limit: 1000, offset }),
    )
    assert.equal(count, 150)
    assert.ok(Buffer.byteLength(JSON.stringify(items)) <= limits.LIST_BYTES)
    found.push(...items.map(({ id }) => id))
    offset = next
  }
  assert.deepEqual(found, ids)
  assert.ok(pages > 1)
})

test('a run whose documents are gone is put aside and answered without them', async t => {
  const data_dir = temporaryDirectory(t)
  const { store } = await startStore(t, data_dir)
  await store.saveFlow(saving('boiler'))
  const value = longText(8_000)
  const node = nodeRow('fit', { outputs: [{ port: 'y', message: 'log', value, count: 1, digest: 'd' }] })
  const run = await ranRun(
    store.runs,
    newRun('boiler', { inputs: { rate: 1 } }),
    { nodes: [node] },
    { result: { log: value } },
  )
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(databaseFile(data_dir))
  db.prepare('DELETE FROM run_documents').run()
  db.close()
  const shown = (await whole((await store.runs.runText(run.id))!)) as Run
  assert.deepEqual([shown.inputs, shown.result], [{ rate: 1 }, null])
  const nodes = (await whole(await store.runs.nodesText(run.id))) as { items: RunNode[] }
  assert.equal(nodes.items[0]!.outputs, null)
})

test('what a release of before wrote into its rows is read there, and moved out of them in steps', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  await first.store.saveFlow(saving('boiler'))
  const ids: string[] = []
  const value = longText(8_000)
  for (let at = 0; at < 3; at++)
    ids.push((await ranRun(first.store.runs, newRun('boiler'), { nodes: [nodeRow('fit')] })).id)
  await first.store.close()
  const { default: Database } = await import('better-sqlite3')
  const old = new Database(databaseFile(data_dir))
  const long = JSON.stringify({ log: value, loss: 0.5 })
  const output = { port: 'y', message: 'log', value, count: 1, digest: 'd' }
  old.prepare('UPDATE runs SET inputs = ?, resolved = ?, result = ?').run(long, long, long)
  old.prepare('UPDATE run_nodes SET outputs = ?').run(JSON.stringify([output]))
  old.prepare("DELETE FROM settings WHERE name = 'long_rows_seen'").run()
  const reader = new RunReader(old, new RunSelections(old), new RunCurves(old), () => 0)
  const shown = (list: StoredRunList) => list.items.map(({ id, result, truncated }) => ({ id, result, truncated }))
  const expected = ids.toReversed().map(id => ({ id, result: { loss: 0.5 }, truncated: true }))
  assert.deepEqual(shown(reader.list(page())), expected)
  assert.equal(reader.get(ids[0]!)!.result!['log'], value)
  old.close()

  const store = opened(data_dir)
  settle(store)
  store.close()
  const db = new Database(databaseFile(data_dir))
  t.after(() => db.close())
  const lengths = db
    .prepare('SELECT octet_length(inputs), octet_length(resolved), octet_length(result) FROM runs')
    .raw()
  assert.deepEqual(lengths.all(), [
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ])
  const after = new RunReader(db, new RunSelections(db), new RunCurves(db), () => 0)
  assert.deepEqual(shown(after.list(page())), expected)
  assert.deepEqual(after.get(ids[2]!)!.inputs, { log: value, loss: 0.5 })
  assert.deepEqual(after.nodes(ids[2]!)[0]!.outputs, [output])
})

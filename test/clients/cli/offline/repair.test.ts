import assert from 'node:assert/strict'
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { EXIT } from '../../../../protocol/settings.ts'
import { Installation } from '../../../../server/installation/installation.ts'
import { PAGE_BYTES } from '../../../../server/store/file/database.ts'
import { profile } from '../../../../test/kit/profile.ts'
import { directoryFor, Spawned } from '../../../kit/spawned.ts'
import { saving, startStore } from '../../../kit/stored.ts'
import { curve, newRun, nodeRow, ranRun } from '../../../kit/stored-runs.ts'

async function svc(
  t: TestContext,
  ...argv: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const spawned = Spawned.svc(t, { argv, cwd: directoryFor(t), environment: {} })
  const { code } = await spawned.ended
  return { code, stdout: spawned.stdout, stderr: spawned.stderr }
}

const POINTS = 400

/** Two flows, one of them with history, a run with a curve, a user, events; closed in order. */
async function filled(t: TestContext): Promise<string> {
  const data_dir = directoryFor(t)
  const { store, journal, close } = await startStore(t, data_dir)
  const document = { nodes: [], inputs: [{ message: 'x', dtype: 'float' as const }] }
  await store.saveFlow(saving('boiler', { document }))
  await store.saveFlow(saving('boiler', { document: { nodes: [], inputs: [] }, message: 'nothing left' }))
  await store.saveFlow(saving('mixer', { document }))
  await store.users.put({ name: 'ada', password_hash: '$argon2id$secret', ...profile('superuser'), create: true })
  journal.declare('boiler.x', 'float')
  journal.declare('mixer.text', 'str')
  for (let i = 0; i < POINTS; i++) journal.put('boiler.x', i / 4, 1.7e15 + i)
  journal.publish('mixer.text', 'grüße', 1.7e15)
  await store.flush()
  const run = newRun('boiler', { inputs: { x: 1 } })
  await ranRun(store.runs, run, { nodes: [nodeRow('n')], metrics: curve('n.loss', 5) }, { result: { y: 2 } })
  store.event({ type: 'flow_saved', ts: '2026-01-01T00:00:00Z', flow: 'boiler', run: null })
  await store.flush()
  await close()
  return data_dir
}

const lines = (directory: string, name: string): Record<string, unknown>[] =>
  readFileSync(join(directory, name), 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)

const spoil = (data_dir: string, statement: string): void => {
  const db = new Database(join(data_dir, 'engine.db'))
  assert.equal(db.prepare(statement).run().changes, 1)
  db.close()
}

test('a database that is whole is said to be, and left as it is', async t => {
  const data_dir = await filled(t)
  const before = readFileSync(join(data_dir, 'engine.db'))
  const { code, stderr, stdout } = await svc(t, 'verify', '--data-dir', data_dir)
  assert.deepEqual([code, stdout], [EXIT.ok, ''], stderr)
  assert.match(stderr, /\d+ rows, no damage/)
  assert.deepEqual(readFileSync(join(data_dir, 'engine.db')), before)
})

test('what is damaged is listed by table and row, and what is not is exported', async t => {
  const data_dir = await filled(t)
  spoil(data_dir, `UPDATE runs SET result = '{"y'`)
  spoil(data_dir, "UPDATE blobs SET bytes = x'7b' WHERE digest = (SELECT document FROM flows WHERE name = 'mixer')")
  writeFileSync(join(data_dir, 'quarantine.jsonl'), '{"table":"log"}\n')
  const verified = await svc(t, 'verify', '--data-dir', data_dir, '--json')
  assert.equal(verified.code, EXIT.failed, verified.stderr)
  const { findings, quarantined } = JSON.parse(verified.stdout) as {
    findings: { table: string; row: string }[]
    quarantined: number
  }
  assert.equal(quarantined, 1)
  assert.deepEqual([...new Set(findings.map(({ table }) => table))].sort(), ['blobs', 'commits', 'flows', 'runs'])
  assert.match(findings.find(({ table }) => table === 'runs')!.row, /^seq = \d+$/)
  const shown = await svc(t, 'verify', '--data-dir', data_dir)
  assert.match(shown.stdout, /engine\.db +runs +seq = 1/)

  const out = join(directoryFor(t), 'out')
  const repaired = await svc(t, 'repair', out, '--data-dir', data_dir)
  assert.equal(repaired.code, EXIT.failed, repaired.stderr)
  assert.match(repaired.stderr, /could not be read: see unreadable\.jsonl/)
  assert.deepEqual(
    lines(out, 'unreadable.jsonl')
      .map(({ table }) => table)
      .sort(),
    ['commits', 'commits', 'flows', 'runs'],
  )
  assert.deepEqual(
    lines(out, 'flows.jsonl').map(({ name }) => name),
    ['boiler'],
  )
  assert.deepEqual(JSON.parse(readFileSync(join(out, 'flows/boiler.json'), 'utf8')), { nodes: [], inputs: [] })
  assert.equal(statSync(join(out, 'users.jsonl')).mode & 0o777, 0o600)
  assert.deepEqual(Object.keys(lines(out, 'users.jsonl')[0]!), ['name', 'superuser', 'created_at'])
  for (const name of readdirSync(out, { recursive: true, withFileTypes: true })) {
    if (!name.isFile()) continue
    assert.doesNotMatch(readFileSync(join(name.parentPath, name.name), 'utf8'), /argon2id/, name.name)
  }
})

test('everything that a user made is exported: flows with their history, runs with their curves, points by message', async t => {
  const data_dir = await filled(t)
  const out = join(directoryFor(t), 'out')
  const { code, stderr, stdout } = await svc(t, 'repair', out, '--data-dir', data_dir, '--json')
  assert.equal(code, EXIT.ok, stderr)
  assert.equal((JSON.parse(stdout) as { unreadable: number }).unreadable, 0)
  assert.deepEqual(
    lines(out, 'commits.jsonl').map(({ flow, version, message }) => [flow, version, message]),
    [
      ['boiler', 1, ''],
      ['boiler', 2, 'nothing left'],
      ['mixer', 1, ''],
    ],
  )
  const [run] = lines(out, 'runs.jsonl')
  assert.deepEqual([run!['flow'], run!['status'], run!['result']], ['boiler', 'succeeded', { y: 2 }])
  assert.deepEqual(
    lines(out, 'run-metrics.jsonl').map(({ run: id, name, steps }) => [id, name, steps]),
    [[run!['id'], 'n.loss', [0, 1, 2, 3, 4]]],
  )
  const files = new Map(lines(out, 'messages.jsonl').map(({ name, file }) => [name, file as string]))
  const points = lines(out, files.get('boiler.x')!)
  assert.deepEqual([points.length, points[7]!['version'], points[7]!['value']], [POINTS, 8, 1.75])
  assert.deepEqual(
    lines(out, files.get('mixer.text')!).map(({ value }) => value),
    ['grüße'],
  )
  assert.equal(lines(out, 'events.jsonl').at(-1)!['type'], 'flow_saved')

  const again = await svc(t, 'repair', out, '--data-dir', data_dir)
  assert.equal(again.code, EXIT.refused)
  assert.match(again.stderr, /is not empty/)
})

test('rows on both sides of a damaged page are saved', async t => {
  const data_dir = directoryFor(t)
  const { store, close } = await startStore(t, data_dir)
  const COUNT = 400
  for (let i = 0; i < COUNT; i++)
    store.event({ type: 'flow_saved', ts: '2026-01-01T00:00:00Z', flow: null, run: null, n: i, text: 'x'.repeat(300) })
  await store.flush()
  await close()
  const path = join(data_dir, 'engine.db')
  const bytes = readFileSync(path)
  // A page of rows in the middle: the one that holds event number 200.
  const page = Math.floor(bytes.indexOf('"n":200,') / PAGE_BYTES)
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(PAGE_BYTES, 0xee), 0, PAGE_BYTES, page * PAGE_BYTES)
  closeSync(file)
  const verified = await svc(t, 'verify', '--data-dir', data_dir)
  assert.equal(verified.code, EXIT.failed)
  assert.match(verified.stdout, /events/)
  const out = join(directoryFor(t), 'out')
  assert.equal((await svc(t, 'repair', out, '--data-dir', data_dir)).code, EXIT.failed)
  const saved = lines(out, 'events.jsonl').map(({ n }) => n as number)
  assert.equal(new Set(saved).size, saved.length, 'none twice')
  assert.ok(saved.includes(0) && saved.includes(COUNT - 1) && saved.length > COUNT - 60, `${saved.length}`)
  assert.ok(!saved.includes(200))
})

test('beside an engine, and where there is no database, nothing is done', async t => {
  const cwd = directoryFor(t)
  const installation = Installation.open({
    ...{ data_dir: join(cwd, 'data'), global: false, database_path: null, cwd, environment: {} },
  })
  t.after(() => installation.close())
  for (const words of [['verify'], ['repair', join(cwd, 'out')]]) {
    const { code, stderr } = await svc(t, ...words, '--data-dir', installation.data_dir)
    assert.equal(code, EXIT.refused)
    assert.match(stderr, new RegExp(`Process ${process.pid}`))
    const none = await svc(t, ...words, '--data-dir', cwd)
    assert.deepEqual([none.code, /There is no .*engine\.db/.test(none.stderr)], [EXIT.refused, true], none.stderr)
  }
  assert.deepEqual(readdirSync(cwd), ['data'])
})

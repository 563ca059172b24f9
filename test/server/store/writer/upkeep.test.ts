import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { test } from 'node:test'
import { documentOfPieces } from '../../../../core/flow/document-text.ts'
import { finish } from '../../../../core/steps.ts'
import type { NormalDocument } from '../../../../protocol/nouns/flow-document.ts'
import { KIND } from '../../../../protocol/values/encoded.ts'
import { Blobs } from '../../../../server/store/catalog/blobs.ts'
import { FlowReader } from '../../../../server/store/catalog/flow-reader.ts'
import { databaseFile } from '../../../../server/store/file/database.ts'
import { walBytes } from '../../../../server/store/writer/upkeep.ts'
import { cascadeRecord, queuedRecord, takenRecord, valueRecord } from '../../../kit/journal-records.ts'
import { opened, settle } from '../../../kit/opened-store.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { saving, temporaryDirectory } from '../../../kit/stored.ts'

test(`a compaction pass makes the flow store small and changes nothing that is read from it (seed ${seed})`, t => {
  const random = randomFrom(seed)
  const data_dir = temporaryDirectory(t)
  const store = opened(data_dir, { compact_every_changes: 50 })
  const flows = ['a', 'b', 'c']
  const documents = new Map<string, NormalDocument>()
  const saved: { flow: string; commit: string; document: NormalDocument }[] = []
  const source = (name: string): string =>
    `export default ({ x }) => ({ y: x + ${Math.floor(random() * 4)} }) // ${name}\n`.repeat(40)
  for (let change = 0; change < 230; change++) {
    const flow = flows[Math.floor(random() * flows.length)]!
    const before = documents.get(flow) ?? { nodes: [], inputs: [] }
    const nodes = [...before.nodes] as { id: string; source: string }[]
    const id = `n${Math.floor(random() * 6)}`
    const rest = nodes.filter(node => node.id !== id)
    if (random() < 0.9) rest.push({ id, source: source(id) })
    const document = { nodes: rest, inputs: [] } as unknown as NormalDocument
    documents.set(flow, document)
    const [outcome] = store.commit.run(store.intake, [
      { id: change, request: { type: 'save_flow', save: saving(flow, { document }) } },
    ])
    assert.ok('result' in outcome!)
    saved.push({ flow, commit: (outcome.result as { commit: string }).commit, document })
    if (random() < 0.1) settle(store)
  }
  settle(store)
  // up to 49 changes wait for the next pass; what the last one came by is small, but for what is still the newest of its flow
  const replaced = store.db
    .prepare(
      `SELECT count(*) AS documents, sum(length(bytes)) AS bytes, sum(size) AS plain FROM blobs
       WHERE digest NOT IN (SELECT document FROM flows) AND NOT EXISTS (
         SELECT 1 FROM commits c WHERE c.document = digest AND NOT EXISTS (
           SELECT 1 FROM commits later WHERE later.flow = c.flow AND later.seq > c.seq
           AND later.seq <= (SELECT CAST(value AS INTEGER) FROM settings WHERE name = 'compacted_until')))`,
    )
    .get() as { documents: number; bytes: number; plain: number }
  assert.ok(replaced.documents > 100)
  assert.ok(replaced.bytes < replaced.plain / 40, `${replaced.bytes} of ${replaced.plain} bytes`)
  const blobs = new Blobs(store.db)
  const reader = new FlowReader(store.db, blobs)
  for (const { flow, commit, document } of saved)
    assert.deepEqual(finish(documentOfPieces(reader.stored(flow, commit).document!)), document)
  for (const digest of store.db.prepare('SELECT digest FROM blobs').pluck().all() as string[]) {
    assert.ok(blobs.chain(digest) <= 17, `a chain of ${blobs.chain(digest)}`)
  }
  store.close()
})

test('a class over its budget loses its oldest, and rollups outlive the points', t => {
  const data_dir = temporaryDirectory(t)
  const store = opened(data_dir, { history_bytes: 300_000, events_bytes: 50_000, cascades_bytes: 20_000 })
  store.registry.register({ messages: [[0, 'f.raw', 'float']], flows: [[0, 'f']], nodes: [] })
  store.commit.run(store.intake, [{ id: 1, request: { type: 'save_flow', save: saving('f') } }])
  const from = Math.floor(Date.now() / 60_000 - 600) * 60_000_000
  for (let minute = 0; minute < 100; minute++) {
    for (let i = 0; i < 1000; i++) {
      const ts = from + minute * 60_000_000 + i * 50_000
      store.intake.visit(valueRecord(0, minute * 1000 + i + 1, ts, { kind: KIND.float, number: Math.random() }))
      if (i >= 50) continue
      const seq = minute * 50 + i + 1
      const ran = { duration_us: Math.random() * 1e6, status: 1, executions: 1 }
      store.intake.visit(cascadeRecord({ flow: 0, message: 0, version: i, seq, ts, ...ran }))
    }
    for (let i = 0; i < 20; i++) {
      store.commit.events.push({
        type: 'node_log',
        ts: '2026-01-01T00:00:00Z',
        flow: 'f',
        run: null,
        text: 'x'.repeat(100),
      })
    }
    store.commit.run(store.intake, [])
    settle(store)
  }
  const one = (sql: string): number => store.db.prepare(sql).pluck().get() as number
  assert.ok(one('SELECT sum(length(bytes)) FROM chunks') < 310_000)
  assert.ok(one('SELECT sum(count) FROM chunks') > 20_000, 'the newest stay')
  assert.equal(one('SELECT count(*) FROM rollups WHERE bucket_s = 60'), 100)
  assert.equal(one('SELECT sum(count) FROM rollups WHERE bucket_s = 3600'), 100_000)
  assert.ok(one('SELECT sum(length(bytes) + length(flows)) FROM cascades') < 22_000)
  assert.ok(one('SELECT count(*) FROM events') < 500 && one('SELECT count(*) FROM events') > 100)
  assert.equal(one('SELECT max(seq_max) FROM cascades'), 5000)
  store.close()
})

test('rollups keep to half of the history budget: the oldest minutes go first, hours stay', t => {
  const data_dir = temporaryDirectory(t)
  const from = Math.floor(Date.now() / 3_600_000 - 20) * 3_600_000_000
  let now = from
  const store = opened(data_dir, { history_bytes: 200_000 }, () => now)
  const messages = Array.from({ length: 30 }, (_, i): [number, string, string] => [i, `f.m${i}`, 'float'])
  store.registry.register({ messages, flows: [], nodes: [] })
  for (let minute = 0; minute < 1000; minute++) {
    now = from + minute * 60_000_000
    for (const [index] of messages) {
      store.intake.visit(valueRecord(index, minute + 1, now, { kind: KIND.float, number: minute }))
    }
    if (minute % 20 !== 0) continue
    store.commit.run(store.intake, [])
    settle(store)
  }
  store.commit.run(store.intake, [])
  now += 120_000_000
  settle(store)
  const one = (sql: string): number => store.db.prepare(sql).pluck().get() as number
  const minutes = one('SELECT count(*) FROM rollups WHERE bucket_s = 60 AND message = 7')
  assert.ok(minutes > 20 && minutes < 60, `${minutes} minutes`)
  assert.equal(one('SELECT max(start) FROM rollups WHERE bucket_s = 60'), from + 999 * 60_000_000)
  assert.equal(one('SELECT count(*) FROM rollups WHERE bucket_s = 3600 AND message = 7'), 16)
  assert.ok(one('SELECT count(*) * 64 FROM rollups') <= 100_000 + 64 * 30)
  store.close()
})

test("sqlite's own log is written back before it is large, also while somebody reads", t => {
  const data_dir = temporaryDirectory(t)
  const store = opened(data_dir, { wal_bytes: 4 * 1024 * 1024 })
  store.registry.register({ messages: [[0, 'f.raw', 'float']], flows: [], nodes: [] })
  let version = 0
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 50_000; i++) {
      store.intake.visit(valueRecord(0, ++version, 1.7e15 + version, { kind: KIND.float, number: Math.random() }))
    }
    store.commit.run(store.intake, [])
    settle(store)
    assert.ok(walBytes(data_dir) <= 4 * 1024 * 1024, `${walBytes(data_dir)} bytes`)
  }
  store.close()
  assert.equal(walBytes(data_dir), 0)
  assert.ok(statSync(databaseFile(data_dir)).size > 16_000_000)
})

test('values that wait to be run outlive the history around them, until they are consumed', t => {
  const data_dir = temporaryDirectory(t)
  const bounds = { history_bytes: 60_000 }
  let store = opened(data_dir, bounds)
  const registration = {
    messages: [
      [0, 'f.raw', 'float'],
      [1, 'f.busy', 'float'],
    ] as [number, string, string][],
    flows: [[0, 'f']] as [number, string][],
    nodes: [],
  }
  store.registry.register(registration)
  store.commit.run(store.intake, [{ id: 1, request: { type: 'save_flow', save: saving('f') } }])
  const number = () => ({ kind: KIND.float, number: Math.random() })
  const publish = (message: number, from: number, count: number): void => {
    for (let i = from; i < from + count; i++) store.intake.visit(valueRecord(message, i, 1.7e15 + i, number()))
  }
  let busy = 1
  const passes = (rounds: number): void => {
    for (let round = 0; round < rounds; round++, busy += 2000) {
      publish(1, busy, 2000)
      store.commit.run(store.intake, [])
      settle(store)
    }
  }
  const kept = (): number =>
    store.db
      .prepare("SELECT coalesce(sum(count), 0) FROM chunks JOIN messages m ON m.id = message WHERE name = 'f.raw'")
      .pluck()
      .get() as number
  publish(0, 1, 302)
  for (const [item, version] of [300, 301, 302].entries()) {
    store.intake.visit(queuedRecord({ flow: 0, message: 0, version, item }))
  }
  store.intake.waiting.settle()
  passes(20)
  assert.equal(kept(), 302)
  store.close()

  store = opened(data_dir, bounds)
  const [waiting] = store.loaded.waiting
  assert.deepEqual([waiting!.items.map(item => item.version), waiting!.lost], [[300, 301, 302], 0])
  assert.equal(waiting!.standing[0]!.version, 299, 'the value before the first of them is there, for a join')
  store.registry.register(registration)
  // Before the front has answered nobody knows what waits.
  settle(store)
  store.intake.resumed([
    {
      flow: 0,
      messages: Int32Array.of(0, 0, 0),
      versions: Float64Array.of(300, 301, 302),
      places: new Int32Array(3),
      parent_seqs: new Float64Array(3),
      parent_times: new Float64Array(3),
    },
  ])
  passes(20)
  assert.ok(kept() > 0)
  store.intake.visit(takenRecord(0, 3))
  store.intake.waiting.settle()
  passes(20)
  assert.equal(kept(), 0, 'what is consumed goes with the oldest')
  store.close()
})

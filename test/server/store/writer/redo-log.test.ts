import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { finish } from '../../../../core/steps.ts'
import { storeBounds } from '../../../../server/store/file/bounds.ts'
import type { RunWrite } from '../../../../server/store/front/requests.ts'
import { writtenNode } from '../../../../server/store/runs/rows.ts'
import { EngineStore } from '../../../../server/store/writer/engine-store.ts'
import { notCommitted, RedoLog, readRedo, redoFile } from '../../../../server/store/writer/redo-log.ts'
import { opened } from '../../../kit/opened-store.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { saving, temporaryDirectory } from '../../../kit/stored.ts'
import { claimOf, finishOf, newRun, nodeRow } from '../../../kit/stored-runs.ts'

const EPOCH = 7
const BYTES = 8192
const logIn = (data_dir: string, epoch = EPOCH): RedoLog => new RedoLog(data_dir, epoch, BYTES, assert.fail)
const requestsIn = (data_dir: string): unknown[] => readRedo(data_dir).records.flatMap(({ requests }) => requests)

test('records are read as they were written, in order, and a log that is full takes none before the next commit', t => {
  const data_dir = temporaryDirectory(t)
  const log = logIn(data_dir)
  assert.equal(existsSync(redoFile(data_dir)), false, 'there is no file before the first record')
  const written: string[] = []
  while (log.append([`{"n":${written.length}}`, '"ä€😀"'])) written.push(`{"n":${written.length}}`, '"ä€😀"')
  assert.ok(written.length > 200)
  assert.deepEqual(
    requestsIn(data_dir),
    written.map(text => JSON.parse(text)),
  )
  assert.equal(readFileSync(redoFile(data_dir)).length, BYTES, 'its length is always the same')
  assert.equal(log.append([`"${'x'.repeat(BYTES)}"`]), false)
  log.committed()
  assert.equal(log.append(['"after"']), true, 'what does not fit is no failure')
  assert.equal(requestsIn(data_dir).at(-1), 'after', 'what lies behind the newest record is older')
  log.remove()
  assert.equal(existsSync(redoFile(data_dir)), false)
  assert.deepEqual(readRedo(data_dir), { exists: false, epoch: 0, records: [] })
})

test(`a record that is torn or damaged costs itself, and is counted when a newer one is whole (seed ${seed})`, t => {
  const random = randomFrom(seed)
  const data_dir = temporaryDirectory(t)
  const log = logIn(data_dir)
  const ends: number[] = []
  const texts: string[] = []
  for (let end = 0; ; ) {
    const text = JSON.stringify('x'.repeat(Math.floor(random() * 300)))
    if (!log.append([text])) break
    end += 20 + 2 + text.length
    ends.push(end)
    texts.push(JSON.parse(text))
  }
  const whole = readFileSync(redoFile(data_dir))
  for (let round = 0; round < 300; round++) {
    const at = Math.floor(random() * ends[ends.length - 1]!)
    const damaged = Buffer.from(whole)
    if (random() < 0.5) damaged.fill(0, at)
    else damaged[at]! ^= 1 + Math.floor(random() * 255)
    writeFileSync(redoFile(data_dir), damaged)
    const { records } = readRedo(data_dir)
    // Each as it was written, under its number.
    for (const { seq, requests } of records) assert.deepEqual(requests, [texts[seq - 1]], `round ${round}`)
    const spoilt = texts.map((_, record) => {
      const [from, to] = [record === 0 ? 0 : ends[record - 1]!, ends[record]!]
      return !damaged.subarray(from, to).equals(whole.subarray(from, to))
    })
    assert.deepEqual(
      records.map(({ seq }) => seq),
      spoilt.flatMap((is, record) => (is ? [] : [record + 1])),
      `round ${round}, at ${at}`,
    )
    const { missing } = notCommitted(records, 0)
    const newest = spoilt.lastIndexOf(false)
    assert.equal(missing, spoilt.slice(0, newest + 1).filter(Boolean).length)
  }
})

test('only what one engine start wrote after the newest commit is done again, and what is missing is counted', t => {
  const data_dir = temporaryDirectory(t)
  const log = logIn(data_dir)
  for (const text of ['1', '2', '3']) log.append([text])
  const { epoch, records } = readRedo(data_dir)
  assert.equal(epoch, EPOCH)
  const seqs = (held: number): number[] => notCommitted(records, held).records.map(({ seq }) => seq)
  assert.deepEqual([seqs(0), seqs(2), seqs(3), seqs(9)], [[1, 2, 3], [3], [], []])
  assert.equal(notCommitted(records, 9).missing, 0)
  log.committed()
  log.append(['4'])
  const after = notCommitted(readRedo(data_dir).records, 0)
  assert.deepEqual([after.records.map(({ seq }) => seq), after.missing], [[2, 3, 4], 1], '4 lies where 1 was')
})

test('a record of another format is not taken for one of ours', t => {
  const data_dir = temporaryDirectory(t)
  logIn(data_dir).append(['1'])
  const bytes = readFileSync(redoFile(data_dir))
  bytes.writeUInt32LE(99, 8)
  bytes.writeUInt32LE(crc32(bytes.subarray(8, 20 + 3)), 4)
  writeFileSync(redoFile(data_dir), bytes)
  assert.throws(() => readRedo(data_dir), /another release/)
})

test(`a store that is killed between two commits starts again with every write of a run that it answered (seed ${seed})`, t => {
  const random = randomFrom(seed + 1)
  for (let round = 0; round < 12; round++) {
    const data_dir = temporaryDirectory(t)
    const store = opened(data_dir, { redo_bytes: 16_384 })
    store.commit.run(store.intake, [{ id: 1, request: { type: 'save_flow', save: saving('boiler') } }])
    const writes = randomWrites(random)
    for (let group = 0; group < 40; group++) {
      const waiting = Array.from({ length: 1 + Math.floor(random() * 5) }, (_, id) => {
        const request = writes()
        return { id, request, text: JSON.stringify(request) }
      })
      const answers = random() < 0.8 ? store.commit.keep(waiting) : store.commit.run(store.intake, waiting)
      assert.equal(answers!.filter(answer => 'result' in answer).length, waiting.length)
    }
    const killed = temporaryDirectory(t)
    for (const file of ['engine.db', 'engine.db-wal', 'redo.log'])
      if (existsSync(join(data_dir, file))) cpSync(join(data_dir, file), join(killed, file))
    const before = contentOf(store)
    store.close()
    const again = opened(killed)
    const expected = before.runs.map(run => (run.status === 'running' ? { ...run, status: 'failed' } : run))
    const { runs, nodes, events } = contentOf(again)
    assert.deepEqual(runs, expected)
    assert.deepEqual({ nodes, events }, { nodes: before.nodes, events: before.events })
    assert.deepEqual(countsOf(again), countedIn(again))
    again.close()
    assert.equal(existsSync(redoFile(killed)), false, 'a clean end leaves nothing to be done again')
    const clean = opened(data_dir)
    assert.equal(contentOf(clean).runs.length, before.runs.length)
    clean.close()
  }
})

test('what was answered survives the failure of its transaction on a full disk, and a kill in that state', t => {
  const data_dir = temporaryDirectory(t)
  const store = opened(data_dir)
  store.commit.run(store.intake, [{ id: 1, request: { type: 'save_flow', save: saving('boiler') } }])
  const kept = create(newRun('boiler', { inputs: { text: 'x'.repeat(100_000) } }))
  assert.ok('result' in store.commit.keep([kept])![0]!)
  assert.equal(store.transaction.isOpen, true)
  const pages = store.db.pragma('page_count', { simple: true }) as number
  store.db.pragma(`max_page_count = ${pages}`)
  const refused = store.commit.run(store.intake, [create(newRun('boiler', { inputs: { text: 'y'.repeat(100_000) } }))])
  assert.ok('problem' in refused[0]! && refused[0].problem.code === 'disk_full')
  assert.equal(store.commit.isDown, true)
  const killed = temporaryDirectory(t)
  for (const file of ['engine.db', 'engine.db-wal', 'redo.log']) cpSync(join(data_dir, file), join(killed, file))
  store.db.pragma('max_page_count = 1000000')
  store.commit.probe()
  const idsIn = (one: EngineStore): unknown[] => contentOf(one).runs.map(({ id }) => id)
  assert.deepEqual(idsIn(store), [kept.request.run.id])
  assert.deepEqual(countsOf(store), countedIn(store))
  store.close()
  const again = opened(killed)
  assert.deepEqual(idsIn(again), [kept.request.run.id])
  again.close()
})

test('a log that cannot be written costs commits, not writes', t => {
  const data_dir = temporaryDirectory(t)
  const said: string[] = []
  const store = new EngineStore({
    data_dir: data_dir,
    bounds: storeBounds,
    messages: 16,
    clock: () => Date.now() * 1000,
    readPort: () => {},
    onHealth: () => {},
    log: text => said.push(text),
  })
  mkdirSync(redoFile(data_dir))
  store.commit.run(store.intake, [{ id: 1, request: { type: 'save_flow', save: saving('boiler') } }])
  const [first, ...others] = Array.from({ length: 3 }, () => create(newRun('boiler')))
  assert.ok('result' in store.commit.keep([first!])![0]!)
  const killed = temporaryDirectory(t)
  for (const file of ['engine.db', 'engine.db-wal']) cpSync(join(data_dir, file), join(killed, file))
  for (const other of others) {
    assert.ok('result' in store.commit.keep([other])![0]!)
    assert.equal(store.transaction.isOpen, false)
  }
  assert.deepEqual(
    said.map(text => /^redo\.log cannot be written/.test(text)),
    [true],
  )
  store.db.close()

  // A sync that fails says nothing of its record: had it reached the disk, it would not be done twice.
  logIn(killed, 1).append([first!.text])
  const again = opened(killed)
  assert.equal(contentOf(again).runs.length, 1)
  again.close()
})

function create(run: ReturnType<typeof newRun>) {
  const request = { type: 'create_run' as const, run, event: null, at: Date.now() * 1000 }
  return { id: 1, request, text: JSON.stringify(request) }
}

/** Moves of runs that go through: created, claimed, finished with nodes and metrics, cancelled. */
function randomWrites(random: () => number): () => RunWrite {
  const queued: string[] = []
  const running: string[] = []
  const event = (run: string) => ({ type: 'run_created', ts: '2026-01-01T00:00:00Z', flow: 'boiler', run })
  const taken = (from: string[]): string => from.splice(Math.floor(random() * from.length), 1)[0]!
  const progress = (id: string) => ({
    id,
    nodes: [nodeRow('a', { body_s: random() }), nodeRow('b', { position: 1 })].map(node =>
      finish(writtenNode(node, [])),
    ),
    chunks: [{ name: 'a.loss', bytes: Buffer.alloc(16, 1).toString('base64') }],
    artifacts: [],
  })
  return () => {
    const what = random()
    if (what < 0.3 && running.length > 0) {
      const id = taken(running)
      const next = queued.length > 0 && random() < 0.7 ? taken(queued) : null
      if (next !== null) running.push(next)
      const then = next === null ? null : claimOf(next, { whole: false, event: event(next) })
      return { type: 'finish_run', finish: finishOf(id, { events: [event(id)] }), progress: progress(id), then }
    }
    if (what < 0.4 && running.length > 0)
      return { type: 'run_progress', progress: progress(running[Math.floor(random() * running.length)]!) }
    if (what < 0.6 && queued.length > 0) {
      const id = taken(queued)
      if (random() < 0.3) return { type: 'cancel_run', id, at: 5_000_000 }
      running.push(id)
      return { type: 'claim_run', claim: claimOf(id) }
    }
    const run = newRun('boiler', { inputs: { x: random() }, idempotency_key: random() < 0.2 ? 'same' : null })
    if (run.idempotency_key === null) queued.push(run.id)
    return { type: 'create_run', run, event: event(run.id), at: Math.floor(random() * 1e12) }
  }
}

/** As the writing side sees it, what is not committed included. */
function contentOf({ db }: EngineStore): {
  runs: { id: string; status: string }[]
  nodes: unknown[]
  events: unknown[]
} {
  return {
    runs: db.prepare('SELECT id, status, created_at, inputs FROM runs ORDER BY seq').all() as never,
    nodes: db.prepare('SELECT n.*, m.points FROM run_nodes n LEFT JOIN run_metrics m ON m.run = n.run').all(),
    events: db.prepare('SELECT id, ts, type, run, body FROM events WHERE run IS NOT NULL ORDER BY id').all(),
  }
}

const countsOf = ({ db }: EngineStore): unknown[] =>
  db.prepare('SELECT flow, status, count FROM run_counts WHERE count > 0 ORDER BY flow, status').all()

const countedIn = ({ db }: EngineStore): unknown[] =>
  db
    .prepare(
      `SELECT 0 AS flow, status, count(*) AS count FROM runs GROUP BY status
       UNION ALL SELECT flow, status, count(*) FROM runs GROUP BY flow, status ORDER BY flow, status`,
    )
    .all()

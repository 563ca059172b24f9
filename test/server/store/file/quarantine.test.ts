import assert from 'node:assert/strict'
import { closeSync, cpSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { ServiceError } from '../../../../protocol/errors.ts'
import { formatTime } from '../../../../protocol/time.ts'
import { createCodec } from '../../../../protocol/values/codec.ts'
import { KIND } from '../../../../protocol/values/encoded.ts'
import { databaseFile, openReader, PAGE_BYTES } from '../../../../server/store/file/database.ts'
import type { Damage } from '../../../../server/store/front/replies.ts'
import type { EngineStore } from '../../../../server/store/writer/engine-store.ts'
import { queuedRecord, valueRecord } from '../../../kit/journal-records.ts'
import { liveEngine } from '../../../kit/live-engine.ts'
import { opened } from '../../../kit/opened-store.ts'
import { emptyDocument, saving, startStore, temporaryDirectory } from '../../../kit/stored.ts'
import { newRun } from '../../../kit/stored-runs.ts'

const documentOf = (message: string) => ({ ...emptyDocument, inputs: [{ message, dtype: 'float' as const }] })

const save = (store: EngineStore, name: string, message: string): void => {
  const request = { type: 'save_flow' as const, save: saving(name, { document: documentOf(message) }) }
  assert.ok('result' in store.commit.run(store.intake, [{ id: 1, request }])[0]!)
}

const create = (store: EngineStore, id: string): void => {
  const request = {
    type: 'create_run' as const,
    run: newRun('boiler', { id, inputs: { x: id } }),
    event: null,
    at: 1e15,
  }
  assert.ok('result' in store.commit.keep([{ id: 1, request, text: JSON.stringify(request) }])![0]!)
}

const spoil = (data_dir: string, ...statements: string[]): void => {
  const db = new Database(join(data_dir, 'engine.db'))
  for (const statement of statements) assert.equal(db.prepare(statement).run().changes, 1, statement)
  db.close()
}

/** A store with two flows, points in a chunk and in the log, an error of a node, and a queued run; closed. */
function filled(data_dir: string): void {
  const store = opened(data_dir)
  save(store, 'boiler', 'x')
  save(store, 'mixer', 'y')
  store.registry.register({ messages: [[0, 'boiler.x', 'float']], flows: [[0, 'boiler']], nodes: [] })
  const publish = (from: number, to: number): void => {
    for (let i = from; i <= to; i++) store.intake.visit(valueRecord(0, i, 1.7e15 + i, { kind: KIND.float, number: i }))
  }
  publish(1, 200)
  store.commit.run(store.intake, [])
  publish(201, 210)
  for (let item = 0; item < 3; item++)
    store.intake.visit(queuedRecord({ flow: 0, message: 0, version: 208 + item, item }))
  const note = {
    type: 'error',
    node: 'boiler.n',
    code: 'node_error',
    message: 'it broke',
    stack: null,
    ts: Date.now() * 1000,
  }
  store.intake.notes.push(
    Buffer.from(createCodec().encodePlain({ ...note, inputs: { x: 1 }, cascade_seq: 0, cascade_ts: 0 })),
  )
  store.commit.run(store.intake, [])
  create(store, 'first')
  store.close()
}

/** One row of each table that a start reads. */
const SPOILT: readonly (readonly [table: string, statement: string])[] = [
  ['blobs', "UPDATE blobs SET bytes = x'ff' WHERE digest = (SELECT document FROM flows WHERE name = 'mixer')"],
  ['log', "UPDATE log SET bytes = x'01ffffff'"],
  ['latest', "UPDATE latest SET bins = x'ff'"],
  ['waiting', "UPDATE waiting SET bytes = x'01ffffff'"],
  ['runs', `UPDATE runs SET inputs = '{"x'`],
  ['node_errors', "UPDATE node_errors SET inputs = x'd9ff'"],
]

const inputsOf = (data_dir: string, queued: readonly { id: string }[]): unknown[] => {
  const db = openReader(databaseFile(data_dir))
  const rows = queued.map(({ id }) => db.prepare('SELECT inputs FROM runs WHERE id = ?').pluck().get(id) as string)
  db.close()
  return rows.map(text => JSON.parse(text))
}

describe('one row that cannot be read', () => {
  for (const [table, statement] of SPOILT) {
    test(`of ${table} is put aside, named, and found no second time`, t => {
      const data_dir = temporaryDirectory(t)
      filled(data_dir)
      spoil(data_dir, statement)
      const found: Damage[] = []
      const store = opened(data_dir, {}, undefined, damage => found.push(damage))
      assert.equal(found[0]!.table, table)
      assert.ok(found[0]!.row!.length > 0 && found[0]!.reason.length > 0)
      assert.deepEqual(
        store.loaded.flows.map(flow => flow.name),
        table === 'blobs' ? ['boiler'] : ['boiler', 'mixer'],
      )
      assert.deepEqual(inputsOf(data_dir, store.loaded.runs.queued), [table === 'runs' ? {} : { x: 'first' }])
      const [waiting] = store.loaded.waiting
      const lost = table === 'waiting' || table === 'log' ? 3 : 0
      assert.deepEqual(
        [waiting!.items.length, waiting!.lost],
        [3 - lost, lost],
        'what is gone of what waited is counted',
      )
      const [line] = readFileSync(join(data_dir, 'quarantine.jsonl'), 'utf8').trim().split('\n')
      const kept = JSON.parse(line!) as { table: string; content: object }
      assert.equal(kept.table, table)
      assert.ok(Object.keys(kept.content).length > 1, 'what could be read of the row is kept')
      // The same document can be saved again.
      save(store, 'mixer', 'y')
      store.close()
      opened(data_dir, {}, undefined, damage => assert.fail(JSON.stringify(damage))).close()
    })
  }

  test('in each table at once keeps no start from the rest', t => {
    const data_dir = temporaryDirectory(t)
    filled(data_dir)
    spoil(data_dir, ...SPOILT.map(([, statement]) => statement))
    const found: Damage[] = []
    opened(data_dir, {}, undefined, damage => found.push(damage)).close()
    assert.deepEqual(new Set(found.map(damage => damage.table)), new Set([...SPOILT.map(([table]) => table), 'flows']))
  })

  test('of what only lists read is put aside by the first of them, which answers the rest', async t => {
    const data_dir = temporaryDirectory(t)
    filled(data_dir)
    const first = await startStore(t, data_dir)
    for (const type of ['one', 'two', 'three'])
      first.store.event({ type, ts: formatTime(1.7e15), flow: null, run: null })
    await first.close()
    spoil(data_dir, "UPDATE chunks SET bytes = x'ff'", `UPDATE events SET body = '{"' WHERE type = 'two'`)
    const found: Damage[] = []
    const { store } = await startStore(t, data_dir)
    store.followDamage(damage => found.push(damage))
    const query = { name: 'boiler.x', since: null, until: null, limit: 1000, bucket_s: null }
    assert.equal((await store.history(query)).items.length, 10)
    const events = await store.events({ limit: 10, offset: 0, flow: null, type: null, since: null, until: 1.7e15 + 1 })
    assert.deepEqual([events.items.map(event => event.type), events.count], [['three', 'one'], 2])
    assert.deepEqual(
      found.map(({ table, flow }) => [table, flow]),
      [
        ['chunks', 'boiler'],
        ['events', null],
      ],
    )
  })

  test('is an issue, an event and a line of the log', async t => {
    const live = await liveEngine(t)
    const document = { nodes: [], inputs: [{ message: 'x', dtype: 'int' as const }] }
    for (const name of ['boiler', 'mixer']) await live.engine.flows.save(name, { document }, 'tests')
    live.engine.messages.publish([{ name: 'boiler.x', value: 1 }])
    await live.engine.messages.history('boiler.x', { since_us: null, until_us: null, limit: 10, bucket_s: null })
    await live.close()
    spoil(live.data_dir, "UPDATE log SET bytes = x'01ffffff' WHERE id = (SELECT min(id) FROM log)")
    const { engine } = await live.restart()
    const codes = (name: string): string[] => engine.flows.get(name).issues.map(issue => issue.code)
    assert.deepEqual(
      [codes('boiler'), codes('mixer')],
      [['data_damaged'], ['data_damaged']],
      'it belongs to no one flow',
    )
    assert.match(engine.flows.get('boiler').issues[0]!.message, /The row id = \d+ of the table "log" in engine\.db/)
    const events = await engine.observe.events({
      ...{ limit: 10, offset: 0, flow: null, type: 'data_damaged', since_us: null, until_us: null },
    })
    assert.equal(events.count, 1)
    assert.match(readFileSync(join(live.data_dir, 'serve.log'), 'utf8'), /"event":"data_damaged".*"table":"log"/)
  })
})

for (const table of ['latest', 'waiting'])
  test(`a table that SQLite cannot read refuses the start, which names it: ${table}`, t => {
    const data_dir = temporaryDirectory(t)
    filled(data_dir)
    const path = join(data_dir, 'engine.db')
    const db = new Database(path)
    const page = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table) as number
    db.close()
    const file = openSync(path, 'r+')
    writeSync(file, Buffer.alloc(PAGE_BYTES, 0xee), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES)
    closeSync(file)
    assert.throws(
      () => opened(data_dir),
      (error: ServiceError) => {
        assert.equal(error.code, 'database_damaged')
        assert.match(error.detail, new RegExp(`^The table "${table}" of .*engine\\.db cannot be read`))
        assert.match(error.detail, /svc verify/)
        return true
      },
    )
  })

describe('run writes that were answered and are gone are counted', () => {
  /** Killed with three runs in the redo log that are not committed. */
  const killed = (t: Parameters<typeof temporaryDirectory>[0]): string => {
    const data_dir = temporaryDirectory(t)
    filled(data_dir)
    const store = opened(data_dir)
    for (const id of ['second', 'third', 'fourth']) create(store, id)
    const left = temporaryDirectory(t)
    for (const name of ['engine.db', 'engine.db-wal', 'redo.log']) cpSync(join(data_dir, name), join(left, name))
    store.close()
    return left
  }
  const startAgain = (data_dir: string): { runs: string[]; found: Damage[] } => {
    const found: Damage[] = []
    const store = opened(data_dir, {}, undefined, damage => found.push(damage))
    const runs = store.loaded.runs.queued.map(run => run.id)
    store.close()
    opened(data_dir, {}, undefined, damage => assert.fail(`a second time: ${JSON.stringify(damage)}`)).close()
    return { runs, found }
  }

  test('nothing is said when none is', t => {
    assert.deepEqual(startAgain(killed(t)), { runs: ['first', 'second', 'third', 'fourth'], found: [] })
  })

  test('a damaged record before whole ones', t => {
    const data_dir = killed(t)
    const path = join(data_dir, 'redo.log')
    const bytes = readFileSync(path)
    bytes[bytes.indexOf('third')]! ^= 1
    writeFileSync(path, bytes)
    const { runs, found } = startAgain(data_dir)
    assert.deepEqual(runs, ['first', 'second', 'fourth'])
    assert.deepEqual(
      found.map(({ file, run_writes }) => [file, run_writes]),
      [['redo.log', 1]],
    )
  })

  test('commits of a log of SQLite that is gone', t => {
    const data_dir = killed(t)
    rmSync(join(data_dir, 'engine.db-wal'))
    const { runs, found } = startAgain(data_dir)
    assert.deepEqual(runs, ['first', 'second', 'third', 'fourth'], 'the redo log has them')
    assert.match(found[0]!.reason, /engine\.db is older than redo\.log/)
  })

  test('a redo log that is gone after a kill', t => {
    const data_dir = temporaryDirectory(t)
    filled(data_dir)
    const store = opened(data_dir)
    create(store, 'second')
    store.commit.run(store.intake, [])
    create(store, 'third')
    const left = temporaryDirectory(t)
    for (const name of ['engine.db', 'engine.db-wal']) cpSync(join(data_dir, name), join(left, name))
    store.close()
    const { runs, found } = startAgain(left)
    assert.deepEqual([runs, found.map(({ file }) => file)], [['first', 'second'], ['redo.log']])
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTime } from '../../../../protocol/time.ts'
import { Blobs } from '../../../../server/store/catalog/blobs.ts'
import { databaseFile, openWriter } from '../../../../server/store/file/database.ts'
import { migrate, migrations, schemaVersion } from '../../../../server/store/migrations/migrate.ts'
import { emptyDocument, startStore, temporaryDirectory } from '../../../kit/stored.ts'
import { newRun, ranRun } from '../../../kit/stored-runs.ts'

const schema = (db: ReturnType<typeof openWriter>): unknown =>
  db.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY type, name').all()

test('a file of any earlier schema, the empty one too, ends with the newest', t => {
  const newest = openWriter(databaseFile(temporaryDirectory(t)))
  migrate(newest)
  const wanted = schema(newest)
  newest.close()
  for (let from = 0; from <= migrations.length; from++) {
    const db = openWriter(databaseFile(temporaryDirectory(t)))
    migrate(db, migrations.slice(0, from))
    assert.equal(schemaVersion(db), from)
    assert.equal(migrate(db), from)
    assert.equal(schemaVersion(db), migrations.length)
    assert.deepEqual(schema(db), wanted)
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
    db.close()
  }
})

test('a directory of the first schema keeps its flows, events and settings, and takes runs', async t => {
  const data_dir = temporaryDirectory(t)
  const db = openWriter(databaseFile(data_dir))
  migrate(db, migrations.slice(0, 1))
  const digest = new Blobs(db).put(JSON.stringify(emptyDocument))
  db.prepare(
    `INSERT INTO flows (name, enabled, version, head, document, updated_at, updated_by) VALUES ('boiler', 1, 3, 'c1', ?, 5, 'ada')`,
  ).run(digest)
  db.prepare(
    `INSERT INTO commits (hash, flow, name, version, document, enabled, author, message, at, action) VALUES ('c1', 1, 'boiler', 3, ?, 1, 'ada', '', 5, 'save')`,
  ).run(digest)
  db.prepare(`INSERT INTO settings (name, value) VALUES ('engine_epoch', '4')`).run()
  db.prepare(`INSERT INTO events (ts, type, flow, body) VALUES (7, 'flow_saved', 'boiler', ?)`).run(
    JSON.stringify({ run: null, version: 3 }),
  )
  db.close()

  const { store, loaded } = await startStore(t, data_dir)
  assert.equal(loaded.engine_epoch, 5)
  assert.deepEqual(
    loaded.flows.map(({ name, version, commit }) => [name, version, commit]),
    [['boiler', 3, 'c1']],
  )
  assert.deepEqual(loaded.runs, { queued: [], interrupted: 0, counts: {} })
  const nobody = { flow: null, type: null, since: null, until: null, limit: 10, offset: 0 }
  assert.deepEqual((await store.events(nobody)).items, [
    { type: 'flow_saved', ts: formatTime(7), flow: 'boiler', run: null, version: 3 },
  ])
  assert.equal((await store.commits('boiler', { limit: 10, offset: 0 })).count, 1)
  const run = await ranRun(store.runs, newRun('boiler'))
  assert.deepEqual(await store.runs.get(run.id), run)
})

test('a migration that fails leaves the schema before it, and the next start takes it further', t => {
  const db = openWriter(databaseFile(temporaryDirectory(t)))
  const next = {
    number: migrations.length + 1,
    name: 'next',
    sql: 'CREATE TABLE extra (id INTEGER) STRICT; SELECT nonsense',
  }
  assert.throws(() => migrate(db, [...migrations, next]), /nonsense/)
  assert.equal(schemaVersion(db), migrations.length)
  assert.equal(db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'extra'").pluck().get(), 0)
  assert.equal(
    migrate(db, [...migrations, { ...next, sql: 'CREATE TABLE extra (id INTEGER) STRICT' }]),
    migrations.length,
  )
  db.close()
})

test('migrations are numbered without gaps', t => {
  const db = openWriter(databaseFile(temporaryDirectory(t)))
  assert.throws(() => migrate(db, [{ number: 2, name: 'second', sql: '' }]), /out of order/)
  db.close()
})

test('a directory from a newer release is refused and left alone', async t => {
  const data_dir = temporaryDirectory(t)
  const db = openWriter(databaseFile(data_dir))
  migrate(db)
  db.pragma(`user_version = ${migrations.length + 1}`)
  db.close()
  await assert.rejects(startStore(t, data_dir), (error: { code: string; detail: string }) => {
    assert.equal(error.code, 'newer_schema')
    assert.match(error.detail, new RegExp(`schema ${migrations.length + 1}.*up to ${migrations.length}`))
    return true
  })
})

test('every connection that writes syncs its commits', t => {
  const db = openWriter(databaseFile(temporaryDirectory(t)))
  assert.equal(db.pragma('journal_mode', { simple: true }), 'wal')
  assert.equal(db.pragma('synchronous', { simple: true }), 2)
  db.close()
})

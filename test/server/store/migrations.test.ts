import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseFile, openWriter } from '../../../server/store/database.ts'
import { migrate, migrations, schemaVersion } from '../../../server/store/migrations.ts'
import { startStore, temporaryDirectory } from '../../kit/stored.ts'

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

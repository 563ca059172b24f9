import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import * as fc from 'fast-check'
import { Blobs } from '../../../../server/store/catalog/blobs.ts'
import { Records } from '../../../../server/store/catalog/records.ts'
import { type Connection, databaseFile, openWriter } from '../../../../server/store/file/database.ts'
import { migrate } from '../../../../server/store/migrations/migrate.ts'
import { searchFile } from '../../../../server/store/search/search-file.ts'
import { SearchIndex } from '../../../../server/store/search/search-index.ts'
import { matchOf, SearchReader } from '../../../../server/store/search/search-reader.ts'

/** The index of a database, without the threads around it. */
function indexed(t: TestContext) {
  const data_dir = mkdtempSync(join(tmpdir(), 'search-'))
  const db = openWriter(databaseFile(data_dir))
  migrate(db)
  const lines: string[] = []
  let now_us = 0
  const files = { assertThere: () => {} }
  const open = (): SearchIndex =>
    new SearchIndex({
      db,
      data_dir,
      blobs: new Blobs(db),
      steady_us: () => now_us,
      files,
      log: text => lines.push(text),
    })
  const index = open()
  const reader = new SearchReader(db, data_dir)
  t.after(() => {
    index.close()
    reader.close()
    db.close()
    rmSync(data_dir, { recursive: true, force: true })
  })
  const settle = (one = index): void => {
    while (one.step());
  }
  const names = (text: string, limit = 100): string[] => reader.search(text, limit).found.map(({ name }) => name)
  return { data_dir, db, index, reader, lines, settle, names, open, later: (us: number) => (now_us += us) }
}

const putUser = (db: Connection, name: string): unknown =>
  db
    .prepare('INSERT INTO users (name, password_hash, superuser, created_at, updated_at) VALUES (?, ?, 0, 0, 0)')
    .run(name, 'hash')

test('of 20,000 things the right one is found, and what was removed is not', t => {
  const { db, settle, names, reader, index } = indexed(t)
  const records = new Records(db)
  const all = Array.from({ length: 20_000 }, (_, at) => ({
    kind: 'secret' as const,
    id: `id${at}`,
    body: JSON.stringify({ name: `secret number${at} of group${at % 10}` }),
  }))
  db.transaction(() => records.write(all))()
  settle()
  assert.deepEqual(names('number17777'), ['secret number17777 of group7'])
  assert.equal(reader.search('number group', 100).found.length, 100)
  assert.equal(reader.search('number group', 100).more, true)
  db.transaction(() => records.write(all.slice(100).map(record => ({ ...record, body: null }))))()
  settle()
  assert.equal(reader.search('number', 100).more, false)
  assert.equal(reader.search('number', 100).found.length, 100)
  // What was read is removed from the database in the end.
  assert.notEqual(index.readUpTo, null)
  index.removeRead()
  assert.equal(db.prepare('SELECT count(*) FROM search_changes').pluck().get(), 0)
  db.transaction(() => records.write([all[200]!]))()
  settle()
  assert.deepEqual(names('number200'), ['secret number200 of group0'])
})

test('an index of before an older database, and one whose words are damaged, are made again', t => {
  const { data_dir, db, index, settle, names, lines, open } = indexed(t)
  putUser(db, 'adelaide')
  settle()
  assert.deepEqual(names('adel'), ['adelaide'])
  index.close()
  // As a backup of before leaves it: fewer changes than the index has read.
  db.exec("DELETE FROM search_changes; UPDATE sqlite_sequence SET seq = 0 WHERE name = 'search_changes'")
  db.exec(
    "DELETE FROM users WHERE name = 'adelaide'; DELETE FROM search_changes; UPDATE sqlite_sequence SET seq = 0 WHERE name = 'search_changes'",
  )
  putUser(db, 'beatrice')
  db.exec("DELETE FROM search_changes; UPDATE sqlite_sequence SET seq = 0 WHERE name = 'search_changes'")
  const again = open()
  settle(again)
  assert.deepEqual([names('adel'), names('beat')], [[], ['beatrice']])
  again.close()
  const damaged = new Database(searchFile(data_dir))
  damaged.unsafeMode(true)
  damaged.exec('DELETE FROM words_data')
  damaged.close()
  assert.deepEqual(names('beat'), [])
  const last = open()
  putUser(db, 'bernadette')
  settle(last)
  assert.deepEqual(names('bernadette'), ['bernadette'], lines.join())
  assert.deepEqual(names('beat'), ['beatrice'], lines.join())
  last.close()
})

test('whatever is asked is a valid query, and finds the name that holds all of its words', t => {
  const { db, settle, reader } = indexed(t)
  putUser(db, 'quoted')
  settle()
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 100 }), text => {
      // What the index refuses answers as one that is not there.
      assert.equal(reader.search(text, 10).complete, true)
    }),
    { numRuns: 2000 },
  )
  fc.assert(
    fc.property(fc.stringMatching(/^[a-zäöüß0-9_]{1,20}$/), fc.stringMatching(/^[A-Z]{1,10}$/), (one, two) => {
      const name = `${one} ${two}`
      db.prepare('DELETE FROM users').run()
      putUser(db, name)
      settle()
      assert.deepEqual(
        reader.search(`${two.toLowerCase()} ${one}`, 10).found.map(found => found.name),
        [name],
      )
    }),
    { numRuns: 50 },
  )
})

test('a query is its words, quoted, each of them a beginning', () => {
  assert.equal(matchOf('  boiler  temp '), '"boiler"* "temp"*')
  assert.equal(matchOf('say "hi" OR x:y'), '"say"* """hi"""* "OR"* "x:y"*')
  assert.equal(matchOf(' - " '), null)
})

test('of many changes of one run its last tags are found, wherever a round ends among them', t => {
  const { db, settle, names, index } = indexed(t)
  const run = db.prepare(
    `INSERT INTO runs (seq, id, flow, status, cause, created_by, no_cache, version, "commit", inputs, resolved, inputs_digest, attempt, epoch,
     created_at) VALUES (?, ?, 1, 'queued', 'api', 'ada', 0, 1, 'c', '{}', '{}', 'd', 1, 1, ?)`,
  )
  const tag = db.prepare('INSERT INTO run_tags (run, tag, position, created_at) VALUES (?, ?, ?, ?)')
  const idOf = (at: number): string => `0190f3c2-0000-7000-8000-${String(at).padStart(12, '0')}`
  const runs = Array.from({ length: 150 }, (_, at) => at + 1)
  db.transaction(() => {
    for (const at of runs) {
      run.run(at, idOf(at), at)
      for (const [position, name] of ['nightly', 'draft'].entries()) tag.run(at, name, position, at)
    }
  })()
  index.step()
  db.transaction(() => {
    for (const at of runs) db.prepare("DELETE FROM run_tags WHERE run = ? AND tag = 'draft'").run(at)
    tag.run(77, 'chosen', 1, 77)
  })()
  settle()
  assert.deepEqual(names('draft'), [])
  assert.equal(names('nightly', 1_000).length, 150)
  assert.deepEqual(names('chosen'), [idOf(77)])
})

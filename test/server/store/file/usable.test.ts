import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { ServiceError } from '../../../../protocol/errors.ts'
import { tmpfs } from '../../../kit/mounted.ts'
import { opened } from '../../../kit/opened-store.ts'
import { startStore, temporaryDirectory } from '../../../kit/stored.ts'

/** What the start is refused with. */
function refusal(data_dir: string): ServiceError {
  try {
    opened(data_dir).close()
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error))
    return error
  }
  assert.fail('it was opened')
}

const sqlite = (path: string, ...statements: string[]): void => {
  const db = new Database(path)
  for (const statement of statements) db.exec(statement)
  db.close()
}

const made = (t: TestContext): { data_dir: string; path: string } => {
  const data_dir = temporaryDirectory(t)
  return { data_dir, path: join(data_dir, 'engine.db') }
}

describe('a database that cannot be used is refused in a sentence that names it, and left as it is', () => {
  const expect = (t: TestContext, prepare: (path: string) => void, sentence: RegExp): void => {
    const { data_dir, path } = made(t)
    prepare(path)
    const before = (() => {
      try {
        return readFileSync(path)
      } catch {
        return null
      }
    })()
    const { code, detail } = refusal(data_dir)
    assert.equal(code, 'bad_database', detail)
    assert.ok(detail.startsWith(path), detail)
    assert.match(detail, sentence)
    assert.match(detail, /svc verify/)
    if (before !== null) assert.deepEqual(readFileSync(path), before)
  }

  test('a directory', t => expect(t, path => mkdirSync(path), /is a directory; it must be a file/))

  test('a file that is none', t => expect(t, path => writeFileSync(path, 'flows: []\n'), /is not an SQLite database/))

  test('a file that was cut short', t => {
    expect(
      t,
      path => {
        opened(join(path, '..')).close()
        truncateSync(path, 20_000)
      },
      /is cut short: it has 20000 bytes, and its header speaks of \d+/,
    )
  })

  test('pages of another size', t => {
    expect(
      t,
      path => sqlite(path, 'CREATE TABLE t (a)'),
      /has pages of 4096 bytes.*another program may have written it/,
    )
  })

  test('the database of another program', t => {
    expect(
      t,
      path =>
        sqlite(
          path,
          'PRAGMA page_size = 8192',
          'PRAGMA auto_vacuum = 2',
          'PRAGMA journal_mode = WAL',
          'CREATE TABLE t (a)',
        ),
      /has tables that are not the engine's/,
    )
  })

  test('a file that may not be written', t => {
    const { data_dir, path } = made(t)
    const disk = tmpfs(data_dir, '8m')
    if (disk === null) return t.skip('needs the right to mount')
    try {
      opened(data_dir).close()
      assert.ok(disk.remount('ro'))
      const { code, detail } = refusal(data_dir)
      assert.deepEqual([code, detail.startsWith(`${path} cannot be written (EROFS)`)], ['bad_database', true], detail)
    } finally {
      disk.unmount()
    }
  })

  test('the front hears the same sentence', async t => {
    const { data_dir, path } = made(t)
    mkdirSync(path)
    await assert.rejects(startStore(t, data_dir), (error: ServiceError) => {
      assert.equal(error.code, 'bad_database')
      assert.ok(error.detail.startsWith(`${path} is a directory`))
      return true
    })
  })
})

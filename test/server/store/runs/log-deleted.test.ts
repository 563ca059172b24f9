import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { migrate } from '../../../../server/store/migrations/migrate.ts'
import { LogWriter } from '../../../../server/store/runs/log-writer.ts'

test('the log of a run goes with the run, and that of another stays', () => {
  const db = new Database(':memory:')
  migrate(db)
  const insert = db.prepare(
    `INSERT INTO runs (seq, id, flow, status, cause, created_by, no_cache, version, "commit", inputs, resolved, inputs_digest, attempt, created_at)
     VALUES (?, ?, 1, 'succeeded', 'api', 'ada', 0, 1, 'c', '{}', '{}', 'd', 1, ?)`,
  )
  const writer = new LogWriter(db)
  for (const seq of [1, 2]) {
    insert.run(seq, `run ${seq}`, seq)
    writer.write(seq, {
      chunks: [{ first: 1, count: 1, from_us: 1, size: 17, lines: 'a 1 1 1 5\n10,1:x' }],
      dropped: 0,
    })
  }
  db.prepare('DELETE FROM runs WHERE seq = 1').run()
  for (const table of ['run_logs', 'run_log_chunks'])
    assert.deepEqual(db.prepare(`SELECT run FROM ${table}`).pluck().all(), [2])
  db.close()
})

/**
 * The floor of `export`: points in a table of rows, read and written as JSON.
 *   open({runs, metrics, points})    writes them
 *   pass() -> {seconds, bytes}
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { answer } from '../../partner.ts'
import { pointOf } from '../../stored-runs.ts'

const opened: { db: Database.Database | null } = { db: null }

answer({
  async open({ runs, metrics, points }: { runs: number; metrics: number; points: number }) {
    const folder = mkdtempSync(join(tmpdir(), 'bench-rows-'))
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
    const db = new Database(join(folder, 'rows.db'))
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = OFF')
    db.exec(
      'CREATE TABLE points (run INTEGER, name TEXT, step REAL, value REAL, PRIMARY KEY (run, name, step)) WITHOUT ROWID',
    )
    const insert = db.prepare('INSERT INTO points VALUES (?, ?, ?, ?)')
    db.transaction(() => {
      for (let run = 1; run <= runs; run++)
        for (let metric = 1; metric <= metrics; metric++)
          for (let step = 0; step < points; step++)
            insert.run(run, `stored.body0.metric${metric}`, step, pointOf(run, metric, step))
    })()
    opened.db = db
    return {}
  },

  async pass() {
    const began_ms = performance.now()
    let bytes = 0
    for (const row of opened.db!.prepare('SELECT run, name, step, value FROM points').iterate())
      bytes += JSON.stringify(row).length
    return { seconds: (performance.now() - began_ms) / 1000, bytes }
  },
})

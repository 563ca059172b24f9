/**
 * Synced group commits of the bytes of runs, through better-sqlite3 alone.
 *   pass({runs, group, created_bytes, ended_bytes}) -> {seconds}
 * What eight callers create together is one transaction; what they end is another.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { answer } from '../../partner.ts'

answer({
  async pass(sizes: { runs: number; group: number; created_bytes: number; ended_bytes: number }) {
    const { runs, group, created_bytes, ended_bytes } = sizes
    const folder = mkdtempSync(join(tmpdir(), 'bench-runs-'))
    const db = new Database(join(folder, 'runs.db'))
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    db.exec('CREATE TABLE runs (id INTEGER PRIMARY KEY, created BLOB, ended BLOB)')
    const create = db.prepare('INSERT INTO runs (id, created) VALUES (?, ?)')
    const end = db.prepare('UPDATE runs SET ended = ? WHERE id = ?')
    const created = Buffer.alloc(created_bytes, 1)
    const ended = Buffer.alloc(ended_bytes, 2)
    const began_ms = performance.now()
    for (let first = 0; first < runs; first += group) {
      db.transaction(() => {
        for (let id = first; id < first + group; id++) create.run(id, created)
      }).immediate()
      db.transaction(() => {
        for (let id = first; id < first + group; id++) end.run(ended, id)
      }).immediate()
    }
    const seconds = (performance.now() - began_ms) / 1000
    db.close()
    rmSync(folder, { recursive: true, force: true })
    return { seconds }
  },
})

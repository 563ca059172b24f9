/**
 * Lines of text made durable without an engine.
 *   file({lines, bytes}) -> {seconds}   appended to a file, 250 at a time, synced as often as a group commit
 *   rows({lines, bytes}) -> {seconds}   a row each through better-sqlite3, in synced transactions of 1,000
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { limits } from '../../../protocol/limits.ts'
import { answer } from '../../partner.ts'

interface Lines {
  lines: number
  bytes: number
}

const ROWS = 1_000
const BATCH = 250

answer({
  async file({ lines, bytes }: Lines) {
    const folder = mkdtempSync(join(tmpdir(), 'bench-lines-'))
    const file = openSync(join(folder, 'lines.log'), 'a')
    const batch = Buffer.from(`${'l'.repeat(bytes)}\n`.repeat(BATCH))
    const began_ms = performance.now()
    let synced_ms = began_ms
    for (let at = 0; at < lines; at += BATCH) {
      writeSync(file, batch)
      if (performance.now() - synced_ms < limits.GROUP_COMMIT_MS) continue
      fdatasyncSync(file)
      synced_ms = performance.now()
    }
    fdatasyncSync(file)
    const seconds = (performance.now() - began_ms) / 1000
    closeSync(file)
    rmSync(folder, { recursive: true, force: true })
    return { seconds }
  },

  async rows({ lines, bytes }: Lines) {
    const folder = mkdtempSync(join(tmpdir(), 'bench-lines-'))
    const db = new Database(join(folder, 'lines.db'))
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    db.exec(
      'CREATE TABLE lines (run TEXT, seq INTEGER, ts INTEGER, node TEXT, level TEXT, text TEXT, PRIMARY KEY (run, seq))',
    )
    const insert = db.prepare('INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?)')
    const text = 'l'.repeat(bytes)
    const began_ms = performance.now()
    for (let first = 0; first < lines; first += ROWS) {
      db.transaction(() => {
        for (let seq = first; seq < first + ROWS; seq++) insert.run('run', seq, Date.now() * 1000, 'node', 'info', text)
      }).immediate()
    }
    const seconds = (performance.now() - began_ms) / 1000
    db.close()
    rmSync(folder, { recursive: true, force: true })
    return { seconds }
  },
})

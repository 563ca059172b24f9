import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { decodePlain } from '../../protocol/values/codec.ts'

/** What the nodes of an engine that has ended keep, by `<flow>.<node>`. Looked at in a copy: the next start finds what this one left. */
export function storedStates(data_dir: string): Map<string, Record<string, unknown>> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-states-'))
  try {
    for (const name of ['engine.db', 'engine.db-wal'])
      if (existsSync(join(data_dir, name))) copyFileSync(join(data_dir, name), join(folder, name))
    const db = new Database(join(folder, 'engine.db'))
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
    const rows = db.prepare('SELECT node, bytes FROM states').all() as { node: string; bytes: Buffer }[]
    db.close()
    return new Map(rows.map(({ node, bytes }) => [node, (decodePlain(bytes) as { s: Record<string, unknown> }).s]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

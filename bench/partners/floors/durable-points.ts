/**
 * Points made durable without an engine: the floor and the rival of `history`. A point is a message, a version, a timestamp and a float.
 * One thread; the disk is shared with everything else on the machine.
 *   append({points}) -> {seconds}     the floor: raw columns appended to a file, one fdatasync per 50 ms
 *   insert({points}) -> {seconds}     the rival: a row per point through better-sqlite3, synced transactions of 1,000 rows
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { answer } from '../../partner.ts'
import { MESSAGES, temperatures } from '../measured-points.ts'

const DOUBLES_PER_POINT = 4
const POINTS_PER_WRITE = 4_096
const SYNC_EVERY_MS = 50
const ROWS_PER_TRANSACTION = 1_000

const values = temperatures()
const folder = mkdtempSync(join(tmpdir(), 'bench-history-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

answer({
  append({ points }: { points: number }) {
    const file = openSync(join(folder, 'columns'), 'w')
    const columns = new Float64Array(POINTS_PER_WRITE * DOUBLES_PER_POINT)
    const began_ms = performance.now()
    let synced_ms = began_ms
    for (let done = 0; done < points; ) {
      const batch = Math.min(POINTS_PER_WRITE, points - done)
      for (let point = 0; point < batch; point++, done++) {
        columns[point] = done % MESSAGES
        columns[point + POINTS_PER_WRITE] = done
        columns[point + 2 * POINTS_PER_WRITE] = began_ms + done
        columns[point + 3 * POINTS_PER_WRITE] = values[done % values.length]!
      }
      writeSync(file, columns)
      if (performance.now() - synced_ms < SYNC_EVERY_MS) continue
      fdatasyncSync(file)
      synced_ms = performance.now()
    }
    fdatasyncSync(file)
    closeSync(file)
    return { seconds: (performance.now() - began_ms) / 1000 }
  },

  insert({ points }: { points: number }) {
    const path = join(folder, 'rows.db')
    for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
    const database = new Database(path)
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    database.exec('CREATE TABLE points (message INTEGER, version INTEGER, ts REAL, value REAL)')
    const row = database.prepare('INSERT INTO points VALUES (?, ?, ?, ?)')
    const began_ms = performance.now()
    const transaction = database.transaction((from: number, to: number) => {
      for (let point = from; point < to; point++)
        row.run(point % MESSAGES, point, began_ms + point, values[point % values.length])
    })
    for (let done = 0; done < points; done += ROWS_PER_TRANSACTION) {
      transaction(done, Math.min(points, done + ROWS_PER_TRANSACTION))
    }
    const seconds = (performance.now() - began_ms) / 1000
    database.close()
    return { seconds }
  },
})

import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { v7 as uuidv7 } from 'uuid'
import { passedThrough, type RunningPartner, startOurs } from './engine.ts'

/** Data directories with many runs in them, written past the engine: what a bench looks at is how they are read. */

const FLOW = 'stored'
/** 2026-01-01, in microseconds. */
const FIRST_US = 1_767_225_600_000_000
const FINISHED = 'succeeded'
const LOOK_MS = 20
const PIECE_BYTES = 64 * 1024

export interface StoredRuns {
  runs: number
  /** Curves of each run, and points of each curve. */
  metrics?: number
  /** Of the result of each run; more than a few KiB stand beside its row. */
  result_bytes?: number
  points?: number
}

/** An engine on a fresh data directory with so many finished runs of one flow. It ends with the bench. */
export async function startWithRuns(stored: StoredRuns): Promise<RunningPartner> {
  const data_dir = mkdtempSync(join(tmpdir(), 'bench-stored-runs-'))
  process.on('exit', () => rmSync(data_dir, { recursive: true, force: true }))
  const first = await startOurs(1, data_dir)
  await first.partner.ask('save', { name: FLOW, document: passedThrough(1) })
  await first.partner.ask('close')
  await first.partner.stop()
  write(join(data_dir, 'engine.db'), stored)
  const engine = await startOurs(1, data_dir)
  // It answers before its lane runs.
  while ((await fetch(`${engine.url}/utils/health/`)).status !== 200) await sleep(LOOK_MS)
  return engine
}

function write(file: string, { runs, metrics = 0, points = 0, result_bytes = 0 }: StoredRuns): void {
  const db = new Database(file)
  db.pragma('synchronous = OFF')
  const flow = db.prepare('SELECT id FROM flows WHERE name = ?').pluck().get(FLOW)
  const run = db.prepare(
    `INSERT INTO runs (seq, id, flow, status, cause, created_by, no_cache, version, "commit", inputs, resolved, inputs_digest, result, result_summary,
     attempt, epoch, created_at, started_at, finished_at) VALUES (?, ?, ?, ?, 'api', 'bench', 0, 1, 'c', ?, ?, 'd', ?, ?, 1, 1, ?, ?, ?)`,
  )
  const piece = db.prepare("INSERT INTO run_documents (run, part, piece, json) VALUES (?, 'result', ?, ?)")
  const document = Buffer.from(`{"last":1,"text":"${'x'.repeat(result_bytes)}"}`)
  const name = db.prepare('INSERT INTO metric_names (id, name) VALUES (?, ?)')
  const curve = db.prepare('INSERT INTO run_metrics (run, name, chunks, points, last_value) VALUES (?, ?, 1, ?, ?)')
  const chunk = db.prepare('INSERT INTO metric_chunks (run, name, chunk, count, bytes) VALUES (?, ?, 0, ?, ?)')
  const columns = new Float64Array(2 * points)
  db.transaction(() => {
    for (let at = 1; at <= metrics; at++) name.run(at, `body0.metric${at}`)
    for (let seq = 1; seq <= runs; seq++) {
      const inputs = `{"first":${seq}}`
      const at_us = FIRST_US + seq * 1000
      const last = `{"last":${seq}}`
      const [result, summary] = result_bytes === 0 ? [last, null] : ['', last]
      run.run(seq, uuidv7(), flow, FINISHED, inputs, inputs, result, summary, at_us, at_us + 10, at_us + 500)
      if (result_bytes > 0)
        for (let at = 0; at < document.length; at += PIECE_BYTES)
          piece.run(seq, at / PIECE_BYTES, document.subarray(at, at + PIECE_BYTES))
      for (let at = 1; at <= metrics; at++) {
        for (let step = 0; step < points; step++) {
          columns[step] = step
          columns[points + step] = pointOf(seq, at, step)
        }
        curve.run(seq, at, points, columns[2 * points - 1])
        chunk.run(seq, at, points, Buffer.from(columns.buffer))
      }
    }
    const count = db.prepare('INSERT INTO run_counts (flow, status, count) VALUES (?, ?, ?)')
    for (const which of [0, flow]) count.run(which, FINISHED, runs)
  })()
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  // Or the engine's first commit waits until the system has written all of it.
  const written = openSync(file, 'r+')
  fsyncSync(written)
  closeSync(written)
}

/** A curve that falls, a little differently in each run. */
export const pointOf = (run: number, metric: number, step: number): number =>
  Math.round((1e6 * (run % 97) * metric) / (step + 1)) / 1e6

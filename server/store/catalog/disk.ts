import { statSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '../../../protocol/limits.ts'
import type { Summary } from '../../../protocol/nouns/summary.ts'
import type { Connection } from '../file/database.ts'
import { RETAINED } from '../front/retention.ts'
import { walBytes } from '../writer/upkeep.ts'

/** Bytes by class. Those of the database are what their rows take, estimated, of runs that have ended; `flows` is all other pages in use. The budgets
 * of run data are settings, which the front knows. */
export function readDisk(db: Connection, data_dir: string): Summary['disk'] {
  const rows = db.prepare('SELECT class, bytes FROM disk').all() as { class: string; bytes: number }[]
  const counted = new Map(rows.map(row => [row.class, row.bytes]))
  const bytes = (name: string): number => Math.max(0, counted.get(name) ?? 0)
  const pragma = (name: string): number => db.pragma(name, { simple: true }) as number
  const used = (pragma('page_count') - pragma('freelist_count')) * pragma('page_size')
  const history = bytes('history') + bytes('rollups')
  const retained = RETAINED.map(name => ({ class: name, bytes: bytes(name), budget_bytes: null }))
  const counted_bytes = retained.reduce((sum, part) => sum + part.bytes, history + bytes('cascades') + bytes('events'))
  return [
    { class: 'history', bytes: history, budget_bytes: limits.HISTORY_BYTES },
    { class: 'cascades', bytes: bytes('cascades'), budget_bytes: limits.CASCADES_BYTES },
    { class: 'events', bytes: bytes('events'), budget_bytes: limits.EVENTS_BYTES },
    ...retained,
    { class: 'flows', bytes: Math.max(0, used - counted_bytes), budget_bytes: null },
    { class: 'wal', bytes: walBytes(data_dir), budget_bytes: limits.WAL_BYTES },
    {
      class: 'log',
      bytes: statSync(join(data_dir, 'serve.log'), { throwIfNoEntry: false })?.size ?? 0,
      budget_bytes: limits.SERVE_LOG_BYTES,
    },
  ]
}

import { limits } from '../../../protocol/limits.ts'
import type { Fire, FireRun } from '../../../protocol/nouns/fire.ts'
import type { List, Page } from '../../../protocol/nouns/list.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { Connection, Statement } from '../file/database.ts'

interface FireRow {
  scheduled: number
  last_scheduled: number
  fired: number | null
  last_fired: number | null
  status: Fire['status']
  reason: Fire['reason']
  late_s: number
  count: number
  at_least: number
}

/** Fires of inject nodes: one row for consecutive ones with the same outcome, at most `limits.FIRES_KEPT` of a node. Inside the caller's transaction. */
export class Fires {
  readonly #put: Statement
  readonly #see: Statement
  readonly #seen: Statement
  readonly #drop: Statement

  constructor(db: Connection) {
    this.#put = db.prepare(
      `INSERT INTO fires (node, opened, scheduled, last_scheduled, fired, last_fired, status, reason, late_s, count, at_least)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (node, opened) DO UPDATE SET last_scheduled = excluded.last_scheduled, last_fired = excluded.last_fired,
       late_s = excluded.late_s, count = excluded.count, at_least = excluded.at_least`,
    )
    this.#see = db.prepare(
      `INSERT INTO fires_seen (node, schedule, at) VALUES (?, ?, ?)
       ON CONFLICT (node) DO UPDATE SET schedule = excluded.schedule, at = excluded.at`,
    )
    this.#seen = db.prepare('UPDATE fires_seen SET at = max(at, ?) WHERE node = ?')
    this.#drop = db.prepare(
      'DELETE FROM fires WHERE node = ? AND opened <= (SELECT opened FROM fires WHERE node = ? ORDER BY opened DESC LIMIT 1 OFFSET ?)',
    )
  }

  write(runs: readonly FireRun[]): void {
    for (const run of runs) {
      const { node, opened, scheduled_us, last_scheduled_us, fired_us, last_fired_us } = run
      const { status, reason, late_s, count, at_least } = run
      const times = [scheduled_us, last_scheduled_us].map(Math.floor)
      const fired = [fired_us, last_fired_us].map(us => (us === null ? null : Math.floor(us)))
      this.#put.run(node, Math.floor(opened), ...times, ...fired, status, reason, late_s, count, at_least ? 1 : 0)
      this.#seen.run(Math.floor(last_scheduled_us), node)
      this.#drop.run(node, node, limits.FIRES_KEPT)
    }
  }

  /** Records up to when all scheduled times of the nodes are known. */
  seen(nodes: readonly (readonly [node: string, schedule: string])[], at: number): void {
    for (const [node, schedule] of nodes) this.#see.run(node, schedule, Math.floor(at))
  }
}

/** Newest first. */
export function readFires(db: Connection, node: string, { limit, offset }: Page): List<Fire> {
  const rows = db
    .prepare(
      `SELECT scheduled, last_scheduled, fired, last_fired, status, reason, late_s, count, at_least FROM fires
       WHERE node = ? ORDER BY opened DESC LIMIT ? OFFSET ?`,
    )
    .all(node, limit, offset) as FireRow[]
  const { count } = db.prepare('SELECT count(*) AS count FROM fires WHERE node = ?').get(node) as { count: number }
  const timeOf = (us: number | null): string | null => (us === null ? null : formatTime(us))
  const items = rows.map(row => ({
    scheduled_at: formatTime(row.scheduled),
    last_scheduled_at: formatTime(row.last_scheduled),
    fired_at: timeOf(row.fired),
    last_fired_at: timeOf(row.last_fired),
    status: row.status,
    late_s: row.late_s,
    reason: row.reason,
    count: row.count,
    at_least: row.at_least === 1,
  }))
  return { items, count }
}

export interface StoredSeen {
  node: string
  schedule: string
  at: number
}

export const readFiresSeen = (db: Connection): StoredSeen[] =>
  db.prepare('SELECT node, schedule, at FROM fires_seen ORDER BY node').all() as StoredSeen[]

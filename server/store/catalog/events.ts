import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { List } from '../../../protocol/nouns/list.ts'
import { formatTime, parseTime } from '../../../protocol/time.ts'
import { pageOf } from '../../list-page.ts'
import type { Connection, Statement } from '../file/database.ts'
import { type DiskUse, ROW_BYTES } from '../file/disk-use.ts'
import { readable } from '../file/unreadable.ts'
import type { EventsRequest } from '../front/requests.ts'

/** Engine events: type, time, flow and run have their own columns, the rest is in `body`. */
export class EventWriter {
  readonly #disk: DiskUse
  readonly #clock: () => number
  readonly #put: Statement
  readonly #oldest: Statement<{ id: number; bytes: number }>
  readonly #drop: Statement

  constructor(db: Connection, disk: DiskUse, clock: () => number) {
    this.#disk = disk
    this.#clock = clock
    this.#put = db.prepare('INSERT INTO events (ts, type, flow, run, body) VALUES (?, ?, ?, ?, ?)')
    this.#oldest = db.prepare('SELECT id, length(body) AS bytes FROM events ORDER BY id LIMIT ?')
    this.#drop = db.prepare('DELETE FROM events WHERE id <= ?')
  }

  write(event: EngineEvent): void {
    const { type, ts, flow, run, ...rest } = event
    const time = parseTime(ts) ?? this.#clock()
    const body = JSON.stringify(rest)
    this.#put.run(time, String(type), flow ?? null, run ?? null, body)
    this.#disk.add('events', body.length + ROW_BYTES)
  }

  /** Drops the oldest, at most `most` and until `bytes` are free; false when there is none. */
  dropOldest(most: number, bytes: number): boolean {
    const rows = this.#oldest.all(most)
    if (rows.length === 0) return false
    let freed = 0
    let last = 0
    for (const row of rows) {
      if (freed >= bytes) break
      last = row.id
      freed += row.bytes + ROW_BYTES
    }
    this.#drop.run(last)
    this.#disk.add('events', -freed)
    return true
  }
}

interface EventRow {
  id: number
  ts: number
  type: string
  flow: string | null
  run: string | null
  body: string
}

/** SQL for a member of the body; NULL when the body is damaged. */
const told = (member: 'actor' | 'action'): string => `CASE WHEN json_valid(body) THEN body ->> '$.${member}' END`

/** Newest first. */
export function readEvents(db: Connection, query: EventsRequest): List<EngineEvent> {
  const conditions: string[] = []
  const values: unknown[] = []
  const where = (condition: string, value: unknown): void => {
    if (value === null) return
    conditions.push(condition)
    values.push(value)
  }
  where('flow = ?', query.flow)
  where('run = ?', query.run ?? null)
  where('type = ?', query.type)
  where(`${told('actor')} = ?`, query.actor ?? null)
  where(`${told('action')} = ?`, query.action ?? null)
  if (query.audit !== true) where('type <> ?', 'audit')
  where('ts >= ?', query.since)
  where('ts < ?', query.until)
  const clause = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const count = (db.prepare(`SELECT count(*) AS count FROM events ${clause}`).get(...values) as { count: number }).count
  const rows = db
    .prepare(`SELECT id, ts, type, flow, run, body FROM events ${clause} ORDER BY ts DESC, id DESC LIMIT ? OFFSET ?`)
    .iterate(...values, query.limit, query.offset) as Iterable<EventRow>
  const items = Iterator.from(rows).map(({ id, ts, type, flow, run, body }) => ({
    type,
    ts: formatTime(ts),
    flow,
    // Events of old releases have a `run` in the body, which was always null.
    ...readable('events', { id }, () => JSON.parse(body) as Record<string, unknown>),
    run,
  }))
  return pageOf(items, count, query.offset)
}

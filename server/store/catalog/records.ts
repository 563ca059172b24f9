import type { Connection, Statement } from '../file/database.ts'
import type { RecordRange, RecordWrite, StoredRecord } from '../front/requests.ts'

interface Range {
  kind: string
  from: string
  to: string | null
  limit: number
}

/** Records of the service, as text under a kind and an id: clients, secrets (encrypted), panels, dashboards. */
export class Records {
  readonly #put: Statement
  readonly #remove: Statement
  readonly #oldest: Statement<StoredRecord>
  readonly #newest: Statement<StoredRecord>

  constructor(db: Connection) {
    this.#put = db.prepare(
      'INSERT INTO records (kind, id, body) VALUES (?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body',
    )
    this.#remove = db.prepare('DELETE FROM records WHERE kind = ? AND id = ?')
    const select = (order: string): Statement<StoredRecord> =>
      db.prepare(
        `SELECT id, body FROM records WHERE kind = @kind AND id >= @from AND (@to IS NULL OR id < @to) ORDER BY id ${order} LIMIT @limit`,
      )
    this.#oldest = select('ASC')
    this.#newest = select('DESC')
  }

  list({ kind, from, to, limit, newest_first }: RecordRange): StoredRecord[] {
    const range: Range = { kind, from, to, limit }
    return (newest_first ? this.#newest : this.#oldest).all(range)
  }

  /** Inside the caller's transaction. */
  write(records: readonly RecordWrite[]): void {
    for (const { kind, id, body } of records)
      if (body === null) this.#remove.run(kind, id)
      else this.#put.run(kind, id, body)
  }
}

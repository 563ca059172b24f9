import type { Connection, Statement } from './database.ts'

export const DISK_CLASSES = ['history', 'rollups', 'cascades', 'events', 'runs', 'run_logs', 'run_metrics'] as const
export type DiskClassName = (typeof DISK_CLASSES)[number]

/** What a row costs beyond its payload: header, keys, its share of index and page. Estimated, never exact. */
export const ROW_BYTES = 64

/** Bytes by class, kept in the same transaction as the rows they count, so that nobody has to scan the file for them. */
export class DiskUse {
  readonly #add: Statement
  readonly #get: Statement<{ class: DiskClassName; bytes: number }>
  readonly #pending = new Map<DiskClassName, number>()
  readonly #bytes = new Map<DiskClassName, number>()

  constructor(db: Connection) {
    this.#add = db.prepare(
      'INSERT INTO disk (class, bytes) VALUES (?, ?) ON CONFLICT (class) DO UPDATE SET bytes = bytes + excluded.bytes',
    )
    this.#get = db.prepare('SELECT class, bytes FROM disk')
    this.reload()
  }

  /** Bytes that are stored, with those that this transaction adds. */
  bytes(name: DiskClassName): number {
    return (this.#bytes.get(name) ?? 0) + (this.#pending.get(name) ?? 0)
  }

  add(name: DiskClassName, bytes: number): void {
    this.#pending.set(name, (this.#pending.get(name) ?? 0) + bytes)
  }

  /** Call it last in a transaction. */
  write(): void {
    for (const [name, bytes] of this.#pending) if (bytes !== 0) this.#add.run(name, bytes)
  }

  committed(): void {
    for (const [name, bytes] of this.#pending) this.#bytes.set(name, (this.#bytes.get(name) ?? 0) + bytes)
    this.#pending.clear()
  }

  reload(): void {
    this.#pending.clear()
    this.#bytes.clear()
    for (const row of this.#get.all()) this.#bytes.set(row.class, row.bytes)
  }
}

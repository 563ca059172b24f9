import type { Connection, Statement } from '../file/database.ts'
import type { StoredHeld } from '../front/replies.ts'
import { WaitingEncoder } from '../waiting/blob.ts'
import type { WaitingItems } from '../waiting/items.ts'
import type { HeldChange, Intake } from './intake.ts'
import type { Registry } from './registry.ts'
import { ScheduledStatements } from './scheduled.ts'

/** The data that a restart needs besides values: node states, held and scheduled values, and the waiting items of each flow. Inside the caller's transaction. */
export class LiveState {
  readonly #registry: Registry
  readonly #epoch: () => number
  readonly #putState: Statement
  readonly #dropState: Statement
  readonly #putHeld: Statement
  readonly #dropHeld: Statement
  readonly #scheduled: ScheduledStatements
  readonly #putWaiting: Statement
  readonly #dropWaiting: Statement
  readonly #encoder = new WaitingEncoder()
  readonly #row: (message: number) => number

  constructor(db: Connection, registry: Registry, epoch: () => number) {
    this.#registry = registry
    this.#epoch = epoch
    this.#row = message => registry.series(message).id
    this.#putState = db.prepare(
      'INSERT INTO states (node, bytes) VALUES (?, ?) ON CONFLICT (node) DO UPDATE SET bytes = excluded.bytes',
    )
    this.#dropState = db.prepare('DELETE FROM states WHERE node = ?')
    this.#putHeld = db.prepare(
      `INSERT INTO held (message, due_ms, ts, kind, number, bytes) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (message) DO UPDATE SET due_ms = excluded.due_ms, ts = excluded.ts, kind = excluded.kind,
       number = excluded.number, bytes = excluded.bytes`,
    )
    this.#dropHeld = db.prepare('DELETE FROM held WHERE message = ?')
    this.#scheduled = new ScheduledStatements(db)
    this.#putWaiting = db.prepare(
      `INSERT INTO waiting (flow, count, bytes) VALUES (?, ?, ?)
       ON CONFLICT (flow) DO UPDATE SET count = excluded.count, bytes = excluded.bytes`,
    )
    this.#dropWaiting = db.prepare('DELETE FROM waiting WHERE flow = ?')
  }

  write(intake: Intake): void {
    for (const [node, { bytes }] of intake.states) {
      const name = this.#registry.nodeName(node)
      if (bytes.length === 0) this.#dropState.run(name)
      else this.#putState.run(name, bytes)
    }
    for (const [message, change] of intake.holds) this.#hold(this.#registry.series(message).id, change)
    intake.scheduled.write(this.#scheduled, this.#row)
    for (const flow of intake.waiting.changed) this.#wait(flow, intake.waiting.of(flow))
  }

  dropStates(nodes: readonly string[]): void {
    for (const node of nodes) this.#dropState.run(node)
  }

  #hold(message: number, { due_ms, ts, kind, number, bytes }: HeldChange): void {
    if (due_ms === 0) this.#dropHeld.run(message)
    else this.#putHeld.run(message, due_ms, ts, kind, number, bytes)
  }

  /** Writes the waiting items of a flow. Most flows have none at this commit and had none at the last, so they have no row. */
  #wait(flow: number, items: WaitingItems): void {
    const { count } = items
    if (count === 0 && !items.hasRow) return
    const id = this.#registry.flowId(flow)
    if (id === 0) return
    if (count === 0) this.#dropWaiting.run(id)
    else this.#putWaiting.run(id, count, this.#encoder.encode(items, this.#row, this.#epoch()))
  }
}

export function readStates(db: Connection): { node: string; bytes: Uint8Array }[] {
  return db.prepare('SELECT node, bytes FROM states ORDER BY node').all() as { node: string; bytes: Buffer }[]
}

export function readHeld(db: Connection): StoredHeld[] {
  const rows = db
    .prepare(
      'SELECT name, due_ms, ts, kind, number, held.bytes FROM held JOIN messages ON id = message ORDER BY due_ms',
    )
    .all() as (Omit<StoredHeld, 'bytes'> & { bytes: Buffer | null })[]
  return rows.map(row => ({ ...row, bytes: row.bytes ?? new Uint8Array(0) }))
}

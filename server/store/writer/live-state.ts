import type { Connection, Statement } from '../file/database.ts'
import type { StoredHeld } from '../front/replies.ts'
import type { HeldChange, Intake } from './intake.ts'
import type { Registry } from './registry.ts'

/** What a restart needs beside values: node states, held values, and how much had not run. Inside the caller's transaction. */
export class LiveState {
  readonly #registry: Registry
  readonly #putState: Statement
  readonly #dropState: Statement
  readonly #putHeld: Statement
  readonly #dropHeld: Statement
  readonly #setNotRun: Statement
  /** Items that wait, by flow name: accepted minus taken. */
  readonly #waiting = new Map<string, number>()

  constructor(db: Connection, registry: Registry) {
    this.#registry = registry
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
    this.#setNotRun = db.prepare('UPDATE flows SET not_run = ? WHERE name = ? AND not_run <> ?')
  }

  write(intake: Intake): void {
    for (const [node, { bytes }] of intake.states) {
      const name = this.#registry.nodeName(node)
      if (bytes.length === 0) this.#dropState.run(name)
      else this.#putState.run(name, bytes)
    }
    for (const [message, change] of intake.holds) this.#hold(this.#registry.series(message).id, change)
    this.#count(intake)
  }

  dropStates(nodes: readonly string[]): void {
    for (const node of nodes) this.#dropState.run(node)
  }

  /** After the commit that did it. */
  renamed(from: string, to: string): void {
    const waiting = this.#waiting.get(from)
    this.removed(from)
    if (waiting !== undefined) this.#waiting.set(to, waiting)
  }

  removed(flow: string): void {
    this.#waiting.delete(flow)
  }

  #hold(message: number, { due_ms, ts, kind, number, bytes }: HeldChange): void {
    if (due_ms === 0) this.#dropHeld.run(message)
    else this.#putHeld.run(message, due_ms, ts, kind, number, bytes)
  }

  /** Most flows are back at nothing when a commit comes, and their row is not written. */
  #count(intake: Intake): void {
    const changes = new Map<string, number>()
    const change = (flow: string, by: number): void => {
      changes.set(flow, (changes.get(flow) ?? 0) + by)
    }
    const { points, queued } = intake
    for (let i = 0; i < points.dirtyCount; i++) {
      const index = points.dirty[i]!
      const count = queued[index]!
      if (count === 0) continue
      const { name } = this.#registry.series(index)
      change(name.slice(0, name.indexOf('.')), count)
    }
    for (const [flow, count] of intake.takes)
      if (this.#registry.knowsFlow(flow)) change(this.#registry.flowName(flow), -count)
    for (const [flow, by] of changes) {
      // Below nothing for a moment: a lane may take an item and mark it before the publisher has marked that it was accepted.
      const waiting = (this.#waiting.get(flow) ?? 0) + by
      if (waiting === 0) this.#waiting.delete(flow)
      else this.#waiting.set(flow, waiting)
      const shown = Math.max(0, waiting)
      this.#setNotRun.run(shown, flow, shown)
    }
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

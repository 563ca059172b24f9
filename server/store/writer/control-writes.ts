import type { Flavors } from '../catalog/flavors.ts'
import type { FlowStore } from '../catalog/flow-store.ts'
import type { NodeErrors } from '../catalog/node-errors.ts'
import type { Records } from '../catalog/records.ts'
import type { SignIns } from '../catalog/sign-ins.ts'
import type { Users } from '../catalog/users.ts'
import type { Connection, Statement } from '../file/database.ts'
import type { Damage } from '../file/quarantine.ts'
import type { UnreadablePlace } from '../file/unreadable.ts'
import type { ControlRequest } from '../front/requests.ts'
import type { HistoryWriter } from '../history/writer.ts'
import type { RunRemovals } from '../runs/retention/removals.ts'
import type { RunWriter } from '../runs/writer.ts'
import type { LiveState } from './live-state.ts'
import type { Registry } from './registry.ts'

interface Parts {
  db: Connection
  flows: FlowStore
  flavors: Flavors
  users: Users
  records: Records
  sign_ins: SignIns
  errors: NodeErrors
  history: HistoryWriter
  live: LiveState
  registry: Registry
  runs: RunWriter
  removals: RunRemovals
  putAside: (place: UnreadablePlace) => Damage
}

/** Updates of memory to apply after the transaction was committed; to undo them, do not call it. */
export type AfterCommit = () => void

/** Writes that somebody waits for. `apply` runs inside the caller's savepoint. */
export class ControlWrites {
  readonly #parts: Parts
  readonly #setting: Statement
  readonly #renameStates: Statement
  readonly #renameErrors: Statement
  readonly #renameMessages: Statement
  readonly #asideMessages: Statement
  readonly #dropHeld: Statement
  readonly #dropHeldOf: Statement
  readonly #dropScheduled: Statement
  readonly #renameFires: readonly Statement[]
  readonly #dropFires: readonly Statement[]
  readonly #dropScheduledOf: Statement
  readonly #dropStates: Statement
  readonly #dropErrors: Statement

  constructor(parts: Parts) {
    const { db } = parts
    this.#parts = parts
    this.#setting = db.prepare(
      'INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    )
    // '/' follows '.' in ASCII: everything that begins with `<flow>.` lies between the two.
    const within = (column: string): string => `${column} >= @from || '.' AND ${column} < @from || '/'`
    const moved = (column: string): string => `@to || substr(${column}, length(@from) + 1)`
    const rename = (table: string, column: string): Statement =>
      db.prepare(`UPDATE ${table} SET ${column} = ${moved(column)} WHERE ${within(column)}`)
    this.#renameStates = rename('states', 'node')
    this.#renameErrors = rename('node_errors', 'node')
    this.#renameFires = [rename('fires', 'node'), rename('fires_seen', 'node')]
    this.#renameMessages = rename('messages', 'name')
    this.#asideMessages = db.prepare(`UPDATE messages SET name = '~' || id || '.' || name WHERE ${within('name')}`)
    const ofFlow = `message IN (SELECT id FROM messages WHERE ${within('name')})`
    this.#dropHeld = db.prepare(`DELETE FROM held WHERE ${ofFlow}`)
    this.#dropHeldOf = db.prepare('DELETE FROM held WHERE message IN (SELECT id FROM messages WHERE name = ?)')
    this.#dropScheduled = db.prepare(`DELETE FROM scheduled WHERE ${ofFlow}`)
    this.#dropScheduledOf = db.prepare(
      'DELETE FROM scheduled WHERE message IN (SELECT id FROM messages WHERE name = ?)',
    )
    this.#dropStates = db.prepare(`DELETE FROM states WHERE ${within('node')}`)
    this.#dropFires = ['fires', 'fires_seen'].map(table => db.prepare(`DELETE FROM ${table} WHERE ${within('node')}`))
    this.#dropErrors = db.prepare(`DELETE FROM node_errors WHERE ${within('node')}`)
  }

  apply(request: ControlRequest, after: AfterCommit[]): unknown {
    const { flows, flavors, users, records, sign_ins, errors, live, runs, removals } = this.#parts
    switch (request.type) {
      case 'save_flow': {
        const written = flows.save(request.save)
        const { messages = [], nodes = [] } = request.save.forget ?? {}
        this.#forget(messages, after)
        live.dropStates(nodes)
        return written
      }
      case 'rename_flow': {
        const { from, to } = request.rename
        const written = flows.rename(request.rename)
        records.write(request.rename.records ?? [])
        this.#renameLive(from, to, after)
        return written
      }
      case 'delete_flow': {
        runs.refuseLive(request.remove.name)
        const written = flows.remove(request.remove)
        this.#removeLive(request.remove.name, after)
        return written
      }
      case 'enable_flow':
        return flows.setEnabled(request.enable)
      case 'put_user':
        return users.put(request.user)
      case 'delete_user':
        sign_ins.forget(request.name)
        return users.delete(request.name)
      case 'know_address':
        return sign_ins.know(request.known)
      case 'revoke_tokens':
        return sign_ins.revoke(request.revoked)
      case 'write_records':
        records.write(request.records)
        return null
      case 'put_setting':
        this.#setting.run(request.name, request.value)
        return null
      case 'put_flavor':
        return flavors.put(request.flavor)
      case 'delete_flavor':
        return flavors.delete(request.name)
      case 'acknowledge':
        return errors.acknowledge(request.node)
      case 'drop_states':
        live.dropStates(request.nodes)
        return null
      case 'create_run':
        return runs.create(request.run, request.event, request.at)
      case 'repeat_run':
        return runs.repeat(request.repeat)
      case 'claim_run':
        return runs.claim(request.claim)
      case 'set_unbegun':
        return runs.setUnbegun(request.set)
      case 'finish_run':
        return runs.finish(request.finish, request.progress, request.then)
      case 'delete_run':
        return removals.delete(request.id, request.event ?? null)
      case 'remove_runs':
        return removals.remove(request.of, request.ids)
      case 'tell_removals':
        return removals.tell(request.at)
      case 'change_run':
        return runs.change(request.change, request.event)
      case 'cancel_run':
        return runs.requestCancel(request.id, request.at)
      case 'run_progress':
        return runs.progress(request.progress)
      case 'put_aside':
        return this.#parts.putAside(request.place)
      case 'flush':
      case 'durable':
        return null
    }
  }

  /** Series keep their rows, so history, values and held values follow by themselves. Rows that an earlier flow of that name left are renamed. */
  #renameLive(from: string, to: string, after: AfterCommit[]): void {
    const leftover = { from: to }
    this.#dropHeld.run(leftover)
    this.#dropScheduled.run(leftover)
    this.#dropStates.run(leftover)
    this.#dropErrors.run(leftover)
    for (const statement of this.#dropFires) statement.run(leftover)
    this.#asideMessages.run(leftover)
    for (const statement of [this.#renameMessages, this.#renameStates, this.#renameErrors, ...this.#renameFires])
      statement.run({ from, to })
    after.push(() => {
      this.#parts.registry.renamed(from, to)
    })
  }

  #forget(messages: readonly string[], after: AfterCommit[]): void {
    if (messages.length === 0) return
    this.#parts.history.forgetMessages(messages)
    for (const name of messages) {
      this.#dropHeldOf.run(name)
      this.#dropScheduledOf.run(name)
    }
    after.push(() => {
      for (const name of messages) this.#parts.registry.find(name)?.forget()
    })
  }

  /** Points stay as long as their retention says. The flow begins without values when it is saved again. */
  #removeLive(name: string, after: AfterCommit[]): void {
    const gone = { from: name }
    this.#parts.history.forget(name)
    this.#dropHeld.run(gone)
    this.#dropScheduled.run(gone)
    this.#dropStates.run(gone)
    this.#dropErrors.run(gone)
    for (const statement of this.#dropFires) statement.run(gone)
    after.push(() => {
      for (const series of this.#parts.registry.ofFlow(name)) series.forget()
    })
  }
}

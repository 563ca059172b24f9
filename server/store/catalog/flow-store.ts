import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import { keyText } from '../../../protocol/values/canonical-json.ts'
import type { Connection, Statement } from '../file/database.ts'
import { readable, readableTables } from '../file/unreadable.ts'
import type { FlowRenamed, FlowWritten, StoredFlow } from '../front/replies.ts'
import type { EnableFlow, FlowAction, FlowOrigin, RemoveFlow, RenameFlow, SaveFlow } from '../front/requests.ts'
import { type Blobs, sha256 } from './blobs.ts'

interface FlowRow {
  id: number
  name: string
  enabled: number
  version: number
  head: string
  document: string
  origin: string | null
  updated_at: number
  updated_by: string
  deleted: number
}

/** What a commit says; its hash is over `{tree, parent, author, message, at}`. */
interface NewCommit {
  name: string
  version: number
  document: string | null
  enabled: boolean
  origin: string | null
  author: string
  message: string
  action: FlowAction
}

/**
 * The versioned store of flows. Every change is a commit whose parent is the flow's commit before it. A version counts
 * saves (also by restore and rename); enabling, disabling and deleting make commits of the version they found. A deleted
 * flow keeps its row and commits: saving it again goes on counting. Each method runs inside the caller's transaction.
 */
export class FlowStore {
  readonly #db: Connection
  readonly #blobs: Blobs
  readonly #clock: () => number
  readonly #find: Statement<FlowRow>
  readonly #byId: Statement<FlowRow>
  readonly #all: Statement<FlowRow>
  readonly #count: Statement<{ count: number }>
  readonly #insert: Statement
  readonly #update: Statement
  readonly #setName: Statement
  readonly #commit: Statement
  readonly #lastAt: Statement<{ at: number | null }>

  constructor(db: Connection, blobs: Blobs, clock: () => number) {
    this.#db = db
    this.#blobs = blobs
    this.#clock = clock
    this.#find = db.prepare('SELECT * FROM flows WHERE name = ?')
    this.#byId = db.prepare('SELECT * FROM flows WHERE id = ?')
    this.#all = db.prepare('SELECT * FROM flows WHERE deleted = 0 ORDER BY name')
    this.#count = db.prepare('SELECT count(*) AS count FROM flows WHERE deleted = 0')
    this.#insert = db.prepare(
      `INSERT INTO flows (name, enabled, version, head, document, origin, updated_at, updated_by) VALUES (?, 0, 0, '', '', NULL, 0, '')`,
    )
    this.#update = db.prepare(
      `UPDATE flows SET enabled = ?, version = ?, head = ?, document = ?, origin = ?, updated_at = ?, updated_by = ?, deleted = ? WHERE id = ?`,
    )
    this.#setName = db.prepare('UPDATE flows SET name = ? WHERE id = ?')
    this.#commit = db.prepare(
      `INSERT INTO commits (hash, flow, name, version, parent, document, enabled, origin, author, message, at, action)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#lastAt = db.prepare('SELECT max(at) AS at FROM (SELECT at FROM commits ORDER BY seq DESC LIMIT 1)')
  }

  list(): StoredFlow[] {
    const rows = readableTables(this.#db, ['flows'], () => this.#all.all())
    return rows.map(row => readable('flows', { name: row.name }, () => this.#stored(row)))
  }

  #stored(row: FlowRow): StoredFlow {
    return {
      name: row.name,
      enabled: row.enabled === 1,
      version: row.version,
      commit: row.head,
      document: this.#document(row.document),
      origin: row.origin === null ? null : (JSON.parse(row.origin) as FlowOrigin),
      updated_at: row.updated_at,
      updated_by: row.updated_by,
    }
  }

  /** A damaged blob goes to the quarantine, so that the same document can be saved again. */
  #document(digest: string): NormalDocument {
    if (!this.#blobs.has(digest)) throw new RangeError(`its document ${digest} is gone`)
    return readable('blobs', { digest }, () => JSON.parse(this.#blobs.text(digest)) as NormalDocument)
  }

  save(save: SaveFlow): FlowWritten {
    const found = this.#find.get(save.name)
    const current = found && found.deleted === 0 ? found.version : 0
    if (save.create && current > 0) throw new ServiceError('flow_exists', `Flow "${save.name}" exists already.`)
    if (save.base_version !== null && save.base_version !== current) {
      throw new ServiceError(
        'stale_version',
        `The flow "${save.name}" is at version ${current}; the save is based on version ${save.base_version}.`,
      )
    }
    if (current === 0 && this.#count.get()!.count >= limits.FLOWS) {
      throw new ServiceError('too_many_flows', `There are ${limits.FLOWS} flows; no more are allowed.`)
    }
    const row = found ?? this.#create(save.name)
    return this.#write(row, {
      name: save.name,
      version: row.version + 1,
      document: this.#blobs.put(save.document),
      enabled: save.enabled,
      origin: save.origin === null ? null : JSON.stringify(save.origin),
      author: save.author,
      message: save.message,
      action: save.action,
    })
  }

  remove(remove: RemoveFlow): FlowWritten {
    const row = this.#live(remove.name)
    return this.#write(row, {
      name: row.name,
      version: row.version,
      document: null,
      enabled: row.enabled === 1,
      origin: row.origin,
      author: remove.author,
      message: '',
      action: 'delete',
    })
  }

  setEnabled(enable: EnableFlow): FlowWritten {
    const row = this.#live(enable.name)
    return this.#write(row, {
      name: row.name,
      version: row.version,
      document: row.document,
      enabled: enable.enabled,
      origin: row.origin,
      author: enable.author,
      message: '',
      action: enable.enabled ? 'enable' : 'disable',
    })
  }

  /** One step for the flow and for every flow whose references were rewritten. */
  rename(rename: RenameFlow): FlowRenamed {
    const row = this.#live(rename.from)
    const target = this.#find.get(rename.to)
    if (target && target.deleted === 0) throw new ServiceError('flow_exists', `Flow "${rename.to}" exists already.`)
    // A deleted flow of that name is renamed to one that no request can name, so that its commits stay.
    if (target) this.#setName.run(`~${target.id}.${target.name}`, target.id)
    this.#setName.run(rename.to, row.id)
    const own = rename.rewritten.find(({ name }) => name === rename.from || name === rename.to)
    const message = `${rename.from} is now ${rename.to}`
    const written = this.#write(
      row,
      this.#next({ ...row, name: rename.to }, own?.document ?? null, rename.author, message),
    )
    const rewritten = rename.rewritten
      .filter(other => other !== own)
      .map(({ name, document }) => {
        const other = this.#live(name)
        return this.#write(other, this.#next(other, document, rename.author, message))
      })
    return { ...written, rewritten }
  }

  #next(row: FlowRow, document: string | null, author: string, message: string): NewCommit {
    return {
      name: row.name,
      version: row.version + 1,
      document: document === null ? row.document : this.#blobs.put(document),
      enabled: row.enabled === 1,
      origin: row.origin,
      author,
      message,
      action: 'rename',
    }
  }

  #live(name: string): FlowRow {
    const row = this.#find.get(name)
    if (!row || row.deleted === 1) throw new ServiceError('flow_not_found', `There is no flow "${name}".`)
    return row
  }

  #create(name: string): FlowRow {
    return this.#byId.get(this.#insert.run(name).lastInsertRowid)!
  }

  #write(row: FlowRow, next: NewCommit): FlowWritten {
    // Strictly increasing even when the clock goes back, because lists of commits are in this order.
    const at = Math.max(this.#clock(), (this.#lastAt.get()!.at ?? 0) + 1)
    const tree = sha256(
      keyText({ name: next.name, document: next.document, enabled: next.enabled, origin: next.origin }),
    )
    const parent = row.head === '' ? null : row.head
    const hash = sha256(keyText({ tree, parent, author: next.author, message: next.message, at }))
    this.#commit.run(
      hash,
      row.id,
      next.name,
      next.version,
      parent,
      next.document,
      next.enabled ? 1 : 0,
      next.origin,
      next.author,
      next.message,
      at,
      next.action,
    )
    const deleted = next.document === null
    this.#update.run(
      next.enabled ? 1 : 0,
      next.version,
      hash,
      next.document ?? row.document,
      next.origin,
      at,
      next.author,
      deleted ? 1 : 0,
      row.id,
    )
    return { name: next.name, version: next.version, commit: hash, at }
  }
}

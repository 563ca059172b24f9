import { v7 as uuidv7 } from 'uuid'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Client } from '../../protocol/nouns/accounts/client.ts'
import { formatTime } from '../../protocol/time.ts'
import type { Scope } from '../../protocol/words/scopes.ts'
import type { RecordWrite, StoredRecord } from '../store/front/requests.ts'

/** What is kept of a client. Tokens are kept nowhere: they carry the id, and stand as long as the client does. */
export interface ClientRow {
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly owner: ClientOwner
  readonly redirect_uris: readonly string[]
  /** Milliseconds since 1970, as all times here. */
  readonly created_ms: number
  readonly expires_ms: number | null
  readonly last_used_ms: number | null
  /** Tokens that were minted before are dead. */
  readonly tokens_since_ms: number
}

/** A user, and when that user was added: another one may get the same name later. */
export interface ClientOwner {
  readonly name: string
  readonly since: number
}

export interface NewClient extends Pick<ClientRow, 'name' | 'scopes' | 'owner' | 'redirect_uris' | 'expires_ms'> {}

/** Where clients are kept, as text by id. `write` resolves when all of it is on disk. */
export interface ClientRecords {
  list(kind: 'client'): Promise<StoredRecord[]>
  write(records: readonly RecordWrite[]): Promise<unknown>
}

export interface ClientsParts {
  readonly records: ClientRecords
  readonly now: () => number
  /** A time of last use that could not be written. */
  readonly failed: (error: unknown) => void
}

export const shownClient = ({
  id,
  owner,
  created_ms,
  expires_ms,
  last_used_ms,
  name,
  scopes,
  ...row
}: ClientRow): Client => ({
  client_id: id,
  name,
  scopes: [...scopes],
  owner: owner.name,
  status: 'approved',
  redirect_uris: [...row.redirect_uris],
  created_at: formatTime(created_ms * 1000),
  expires_at: expires_ms === null ? null : formatTime(expires_ms * 1000),
  last_used: last_used_ms === null ? null : formatTime(last_used_ms * 1000),
})

/**
 * Clients: agents and programs. All of them are in memory, over the records of the store: every request looks its client up. The store
 * is written first; memory follows when the write is synced. Writes go one after another.
 */
export class Clients {
  readonly #parts: ClientsParts
  readonly #held = new Map<string, ClientRow>()
  #last_write: Promise<unknown> = Promise.resolve()
  readonly #handlers: ((id: string) => void)[] = []

  private constructor(parts: ClientsParts) {
    this.#parts = parts
  }

  static async open(parts: ClientsParts): Promise<Clients> {
    const clients = new Clients(parts)
    for (const { id, body } of await parts.records.list('client')) clients.#held.set(id, JSON.parse(body) as ClientRow)
    return clients
  }

  find(id: string): ClientRow | null {
    return this.#held.get(id) ?? null
  }

  /** By name, those of one name in the order of their making. */
  list(): ClientRow[] {
    return [...this.#held.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1))
  }

  /** Called with the id after a client went or got other scopes: open sockets are looked at again. */
  onChange(handler: (id: string) => void): void {
    this.#handlers.push(handler)
  }

  create(client: NewClient): Promise<ClientRow> {
    return this.#write(async () => {
      this.#mayCreate()
      const created_ms = this.#parts.now()
      const row: ClientRow = { id: uuidv7(), created_ms, last_used_ms: null, tokens_since_ms: 0, ...client }
      await this.#put(row)
      return row
    })
  }

  /** One that registered itself is let in, under the id that it has; one that was let in before gets these scopes. */
  letIn(id: string, client: NewClient): Promise<boolean> {
    return this.#write(async () => {
      const before = this.#held.get(id)
      if (before === undefined) this.#mayCreate()
      else if (before.owner.name !== client.owner.name || before.owner.since !== client.owner.since) return false
      const fresh = { id, created_ms: this.#parts.now(), last_used_ms: null, tokens_since_ms: 0 }
      const row: ClientRow = { ...fresh, ...before, ...client }
      await this.#put(row)
      for (const handler of this.#handlers) handler(id)
      return true
    })
  }

  /** All tokens that were minted so far are refused from now on. */
  endTokens(id: string): Promise<void> {
    return this.#write(async () => {
      const row = this.#held.get(id)
      if (row === undefined) return
      await this.#put({ ...row, tokens_since_ms: this.#parts.now() })
      for (const handler of this.#handlers) handler(id)
    })
  }

  /** Its tokens are refused from now on. */
  remove(id: string): Promise<ClientRow> {
    return this.#write(async () => {
      const row = this.#held.get(id)
      if (row === undefined) throw new ServiceError('client_not_found', `There is no client "${id}".`)
      await this.#parts.records.write([{ kind: 'client', id, body: null }])
      this.#held.delete(id)
      for (const handler of this.#handlers) handler(id)
      return row
    })
  }

  /** Now, by a request or an open socket. Written at most once in `limits.CLIENT_USE_WRITTEN_MS`. */
  used(row: ClientRow): void {
    const now = this.#parts.now()
    const { last_used_ms } = row
    if (last_used_ms !== null && Math.abs(now - last_used_ms) < limits.CLIENT_USE_WRITTEN_MS) return
    const used = { ...row, last_used_ms: now }
    this.#held.set(row.id, used)
    // Behind other writes, of which one may remove it.
    this.#write(async () => {
      if (this.#held.get(row.id) === used) await this.#put(used)
    }).catch(this.#parts.failed)
  }

  #mayCreate(): void {
    if (this.#held.size >= limits.CLIENTS)
      throw new ServiceError('too_many_clients', `There are ${limits.CLIENTS} clients; no more are allowed.`)
  }

  async #put(row: ClientRow): Promise<void> {
    await this.#parts.records.write([{ kind: 'client', id: row.id, body: JSON.stringify(row) }])
    this.#held.set(row.id, row)
  }

  #write<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last_write.then(work)
    this.#last_write = result.catch(() => undefined)
    return result
  }
}

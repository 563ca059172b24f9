import { createHash, randomUUID } from 'node:crypto'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Secret } from '../../protocol/nouns/accounts/secret.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import { formatTime } from '../../protocol/time.ts'
import type { RecordWrite, StoredRecord } from '../store/front/requests.ts'
import { inSlices, Slice } from '../watch/slices.ts'
import { Masking } from './masking.ts'
import type { Sealed, Sealing } from './sealing.ts'
import { namesIn, secretsIn, type UsingFlow, type UsingNode } from './uses.ts'

export interface Secrets {
  /** By name. */
  list(page: Page): Promise<List<Secret>>
  /** Creates or replaces. */
  put(name: string, value: string, by: string): Promise<void>
  /** 409 `secret_in_use`, naming the nodes, while some use it. */
  remove(name: string): Promise<void>
  /** Seals all of them under a new key; answers how many. */
  rekey(): Promise<number>
}

/** A row of the store. */
interface Row {
  readonly name: string
  /** Changes with the value. */
  readonly version: string
  /** Microseconds since 1970. */
  readonly updated_at: number
  readonly updated_by: string
  readonly sealed: Sealed
  /** Nodes that have asked for it when they ran: `flow.node`. */
  readonly asked_by: readonly string[]
}

interface Known extends Row {
  /** Null: it cannot be opened with the keys of this installation. */
  readonly text: string | null
}

export interface SecretsStore {
  list(kind: 'secret'): Promise<StoredRecord[]>
  write(records: readonly RecordWrite[]): Promise<unknown>
}

/** Every secret, opened. It is made before the parts of the engine that ask for values. */
export class OpenedSecrets {
  readonly sealing: Sealing
  readonly masking: Masking
  readonly known: Map<string, Known>

  private constructor(sealing: Sealing, masking: Masking, known: Map<string, Known>) {
    this.sealing = sealing
    this.masking = masking
    this.known = known
  }

  /** Seals under the newest key what an interrupted rekey has left under an older one. */
  static async open(store: SecretsStore, sealing: Sealing): Promise<OpenedSecrets> {
    const known = new Map<string, Known>()
    const stale: Known[] = []
    const masking = new Masking()
    const slice = new Slice()
    for (const { body } of await store.list('secret')) {
      const row = JSON.parse(body) as Row
      const text = await sealing.open(row.name, row.sealed)
      known.set(row.name, { ...row, text })
      await inSlices(masking.set(row.name, text))
      if (text !== null && !sealing.isNewest(row.sealed)) stale.push(known.get(row.name)!)
      await slice.rest()
    }
    masking.write()
    const opened = new OpenedSecrets(sealing, masking, known)
    if (stale.length > 0) await opened.sealAnew(store, stale)
    return opened
  }

  /** All in one transaction. */
  async sealAnew(store: SecretsStore, secrets: readonly Known[]): Promise<void> {
    const slice = new Slice()
    const anew: Known[] = []
    for (const secret of secrets) {
      if (secret.text === null) continue
      anew.push({ ...secret, sealed: await this.sealing.seal(secret.name, secret.text) })
      await slice.rest()
    }
    await store.write(anew.map(written))
    for (const secret of anew) this.known.set(secret.name, secret)
  }
}

export interface LiveSecretsParts {
  readonly opened: OpenedSecrets
  readonly store: SecretsStore
  readonly flows: {
    all(): Iterable<UsingFlow>
    find(name: string): UsingFlow | undefined
    /** One change at a time, saves of flows among them. */
    inTurn<Result>(change: () => Promise<Result>): Promise<Result>
  }
  now_us(): number
  /** The secret has another value, or none any more. */
  changed(name: string): void
  onDefect(error: unknown): void
}

/** Nodes that a refusal names. */
const NODES_NAMED = 20

/**
 * The secrets, in memory over the store. Values leave this class for the thread or the process of a node that asks for one, and for the
 * connectors and webhooks whose settings name it; nothing else gets them.
 */
export class LiveSecrets implements Secrets {
  readonly #parts: LiveSecretsParts
  readonly #known: Map<string, Known>
  /** By node: secrets that it has asked for while it ran. */
  readonly #asked = new Map<string, Set<string>>()

  constructor(parts: LiveSecretsParts) {
    this.#parts = parts
    this.#known = parts.opened.known
    for (const { name, asked_by } of this.#known.values()) for (const node of asked_by) this.#addAsked(node, name)
  }

  has(name: string): boolean {
    return this.#known.has(name)
  }

  /** For settings. Throws `secret_not_found`, and `secret_unreadable` when the key is another. */
  text(name: string): string {
    const known = this.#known.get(name)
    if (known === undefined) throw new ServiceError('secret_not_found', `There is no secret "${name}".`)
    if (known.text === null)
      throw new ServiceError(
        'secret_unreadable',
        `The secret "${name}" was sealed under a key that is not in the key file of this installation.`,
      )
    return known.text
  }

  /** The same for a body that asks while it runs; null: there is none. That it asked is remembered. */
  asked(node: string, name: string): string | null {
    const known = this.#known.get(name)
    if (known === undefined) return null
    this.#remember(node, known)
    return known.text
  }

  /** Changes with the value; '' while there is none. */
  version(name: string): string {
    return this.#known.get(name)?.version ?? ''
  }

  /** Secrets that the node is known to use, as its run has it, and the version of each; by name. */
  usedBy(flow: string, node: UsingNode): [name: string, version: string][] {
    const named = namesIn(node)
    const asked = this.#asked.get(`${flow}.${node.id}`)
    if (named.size === 0 && asked === undefined) return []
    const names = new Set([...named, ...(asked ?? [])])
    return [...names].sort().map(name => [name, this.version(name)])
  }

  async list({ limit, offset }: Page): Promise<List<Secret>> {
    const all = [...this.#known.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    const page = all.slice(offset, offset + limit)
    const users = await this.#users(new Set(page.map(({ name }) => name)))
    const items = page.map(({ name, updated_at, updated_by }) => ({
      name,
      updated_at: formatTime(updated_at),
      updated_by,
      used_by: (users.get(name) ?? []).slice(0, limits.SECRET_USES_SHOWN),
    }))
    return { items, count: all.length }
  }

  /** In turn with the saves of flows, as all changes here are. */
  put(name: string, value: string, by: string): Promise<void> {
    refuseValue(value)
    return this.#parts.flows.inTurn(async () => {
      const before = this.#known.get(name)
      if (before === undefined && this.#known.size >= limits.SECRETS)
        throw new ServiceError('too_many_secrets', `There are ${limits.SECRETS} secrets, which is the bound.`)
      const isSame = before?.text === value
      if (!isSame) await this.#mask(name, value)
      const secret: Known = {
        name,
        version: isSame ? before.version : randomUUID(),
        updated_at: this.#parts.now_us(),
        updated_by: by,
        sealed: await this.#parts.opened.sealing.seal(name, value),
        asked_by: before?.asked_by ?? [],
        text: value,
      }
      await this.#parts.store.write([written(secret)])
      this.#known.set(name, secret)
      if (!isSame) this.#parts.changed(name)
    })
  }

  /** In turn with the saves of flows, so that none is checked against a secret that goes meanwhile. */
  remove(name: string): Promise<void> {
    return this.#parts.flows.inTurn(async () => {
      if (!this.#known.has(name)) throw new ServiceError('secret_not_found', `There is no secret "${name}".`)
      const nodes = (await this.#users(new Set([name]))).get(name) ?? []
      if (nodes.length > 0) {
        const named = nodes.slice(0, NODES_NAMED).map(node => `"${node}"`)
        const more = nodes.length <= NODES_NAMED ? '' : `, and ${nodes.length - NODES_NAMED} more`
        throw new ServiceError('secret_in_use', `The secret "${name}" is used by ${named.join(', ')}${more}.`)
      }
      await this.#parts.store.write([{ kind: 'secret', id: idOf(name), body: null }])
      this.#known.delete(name)
      await this.#mask(name, null)
      this.#parts.changed(name)
    })
  }

  /**
   * The new key is in the key file before anything is sealed under it, and the old one stays there: wherever this is interrupted, every
   * row opens, and the next start goes on with it.
   */
  rekey(): Promise<number> {
    return this.#parts.flows.inTurn(async () => {
      const { opened, store } = this.#parts
      opened.sealing.addKey()
      const all = [...this.#known.values()]
      await opened.sealAnew(store, all)
      return all.filter(({ text }) => text !== null).length
    })
  }

  /** Before anybody can have the value. */
  async #mask(name: string, value: string | null): Promise<void> {
    const { masking } = this.#parts.opened
    try {
      await inSlices(masking.set(name, value))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw new ServiceError('too_many_secrets', 'The secrets take more room than the table of masks has.')
    }
    masking.write()
  }

  /** By secret: the nodes of today that use it, sorted. */
  async #users(names: ReadonlySet<string>): Promise<Map<string, string[]>> {
    const users = new Map<string, Set<string>>()
    const add = (name: string, node: string): void => {
      const nodes = users.get(name) ?? new Set()
      users.set(name, nodes.add(node))
    }
    const slice = new Slice()
    for (const { name: flow, document } of [...this.#parts.flows.all()]) {
      for (const [node, used] of secretsIn(document))
        for (const name of used) if (names.has(name)) add(name, `${flow}.${node}`)
      await slice.rest()
    }
    for (const name of names)
      for (const node of this.#known.get(name)?.asked_by ?? []) if (this.#exists(node)) add(name, node)
    return new Map([...users].map(([name, nodes]) => [name, [...nodes].sort()]))
  }

  #exists(node: string): boolean {
    const dot = node.indexOf('.')
    const flow = this.#parts.flows.find(node.slice(0, dot))
    return flow?.document.nodes.some(({ id }) => id === node.slice(dot + 1)) ?? false
  }

  #addAsked(node: string, name: string): void {
    this.#asked.set(node, (this.#asked.get(node) ?? new Set()).add(name))
  }

  /** Written in turn, and only for names that its document does not show. */
  #remember(node: string, { name, asked_by }: Known): void {
    const dot = node.indexOf('.')
    const flow = this.#parts.flows.find(node.slice(0, dot))
    if (asked_by.includes(node) || flow === undefined) return
    if (
      secretsIn(flow.document)
        .get(node.slice(dot + 1))
        ?.has(name)
    )
      return
    const remembered = (known: Known): Known => ({
      ...known,
      asked_by: [...known.asked_by.filter(one => this.#exists(one)), node].slice(-limits.SECRET_USES_KEPT),
    })
    this.#known.set(name, remembered(this.#known.get(name)!))
    this.#addAsked(node, name)
    this.#parts.flows
      .inTurn(async () => {
        const known = this.#known.get(name)
        if (known !== undefined) await this.#parts.store.write([written(known)])
      })
      .catch(this.#parts.onDefect)
  }
}

/** No name becomes part of a key of the store: any text is one. */
const idOf = (name: string): string => createHash('sha256').update(name).digest('hex')

function written({ text: _, ...row }: Known): RecordWrite {
  return { kind: 'secret', id: idOf(row.name), body: JSON.stringify(row satisfies Row) }
}

/** A value is a text, so that it can stand in headers, addresses and environments; bytes come as base64, and whoever uses them decodes them. */
function refuseValue(value: unknown): asserts value is string {
  const refuse: (msg: string) => never = msg => {
    throw new ServiceError('bad_secret', `The value ${msg}.`, { errors: [{ loc: 'body.value', msg }] })
  }
  if (typeof value !== 'string') return refuse('is no text')
  if (value === '') refuse('is empty')
  if (Buffer.byteLength(value) > limits.SECRET_BYTES)
    throw new ServiceError('too_large', `A secret takes at most ${limits.SECRET_BYTES} bytes.`)
  if (value.includes('\0') || !value.isWellFormed()) refuse('is no text; give bytes as base64')
}

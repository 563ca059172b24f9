/** A store on a directory of its own, fed through a real ring. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { JOURNAL } from '../../core/memory/journal/record.ts'
import { JournalWriter } from '../../core/memory/journal/writer.ts'
import type { Memory } from '../../core/memory/region.ts'
import { SLOT } from '../../core/memory/threads.ts'
import { wakeThread } from '../../core/memory/wait.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import { type Codec, createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { Store, type StoreOptions } from '../../server/store/front/client.ts'
import type { Loaded } from '../../server/store/front/replies.ts'
import type { SaveFlow } from '../../server/store/front/requests.ts'
import { smallMemory } from './memory.ts'

/** A directory that goes when the test ends. */
export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'store-'))
  // What is registered first runs first, and a store that is open may still write: each is closed before.
  t.after(async () => {
    for (const close of closing.get(t) ?? []) await close()
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
  })
  return directory
}

/** What closes the stores of a test. */
const closing = new WeakMap<TestContext, (() => Promise<void>)[]>()

/** One engine start over a data directory. */
export interface Started {
  store: Store
  loaded: Loaded
  memory: Memory
  journal: Journal
  close(): Promise<void>
}

export async function startStore(
  t: TestContext,
  data_dir: string,
  options: Partial<StoreOptions> & { memory?: Memory } = {},
): Promise<Started> {
  const memory = options.memory ?? smallMemory()
  const { store, loaded } = await Store.start({ data_dir, sab: memory.sab, log: () => {}, ...options })
  let closed: Promise<void> | null = null
  const close = (): Promise<void> => (closed ??= store.close())
  closing.set(t, [...(closing.get(t) ?? []), close])
  t.after(close)
  return { store, loaded, memory, journal: new Journal(memory, store), close }
}

/** Publishes by name: registers what is new, counts versions, writes records to the ring of the first lane. */
export class Journal {
  readonly writer: JournalWriter
  readonly #store: Store
  readonly #codec: Codec = createCodec()
  readonly #value = newEncoded()
  readonly #messages = new Map<string, { index: number; dtype: Dtype; version: number }>()
  readonly #flows = new Map<string, number>()
  readonly #nodes = new Map<string, number>()

  constructor(memory: Memory, store: Store, slot: number = SLOT.lane) {
    this.#store = store
    this.writer = new JournalWriter(memory, slot, { store: () => void wakeThread(memory, SLOT.store), front: () => {} })
  }

  declare(name: string, dtype: Dtype, version = 0): number {
    const known = this.#messages.get(name)
    if (known) return known.index
    const index = this.#messages.size
    this.#messages.set(name, { index, dtype, version })
    this.#store.register({ messages: [[index, name, dtype]], flows: [], nodes: [] })
    return index
  }

  flow(name: string): number {
    return this.#index(this.#flows, name, index =>
      this.#store.register({ messages: [], flows: [[index, name]], nodes: [] }),
    )
  }

  node(name: string): number {
    return this.#index(this.#nodes, name, index =>
      this.#store.register({ messages: [], flows: [], nodes: [[index, name]] }),
    )
  }

  #index(table: Map<string, number>, name: string, register: (index: number) => void): number {
    const known = table.get(name)
    if (known !== undefined) return known
    const index = table.size
    table.set(name, index)
    register(index)
    return index
  }

  /** Not marked. Times in microseconds. `queued`: it enters the queue of that flow. Returns the version. */
  put(name: string, value: unknown, ts: number, queued?: { flow: number; item: number }): number {
    const message = this.#messages.get(name)!
    const refused = this.#codec.encode(value, message.dtype, this.#value)
    if (refused) throw new TypeError(refused.text)
    const version = ++message.version
    if (queued === undefined) this.writer.value(message.index, version, ts, 0, this.#value, 0)
    else this.writer.queuedValue(message.index, version, ts, queued.flow, queued.item, this.#value, 0)
    return version
  }

  publish(name: string, value: unknown, ts: number): number {
    const version = this.put(name, value, ts)
    this.writer.mark()
    return version
  }

  state(node: string, value: unknown, version = 0, ts = 0): void {
    const bytes = this.#codec.encodePlain(value)
    this.writer.blob(JOURNAL.state, this.node(node), ts, bytes, bytes.length, version)
  }

  note(value: unknown): void {
    const bytes = this.#codec.encodePlain(value)
    this.writer.blob(JOURNAL.note, 0, 0, bytes, bytes.length)
  }

  hold(name: string, due_ms: number, ts: number, value: unknown): void {
    const message = this.#messages.get(name)!
    this.#codec.encode(value, message.dtype, this.#value)
    this.writer.held(message.index, due_ms, ts, this.#value)
  }
}

export const emptyDocument: NormalDocument = { nodes: [], inputs: [] }

export const saving = (
  name: string,
  { document = emptyDocument, ...more }: Partial<Omit<SaveFlow, 'document'>> & { document?: NormalDocument } = {},
): SaveFlow => ({
  name,
  document: JSON.stringify(document),
  enabled: true,
  author: 'ada',
  message: '',
  action: 'save',
  origin: null,
  base_version: null,
  ...more,
})

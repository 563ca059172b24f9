import { Worker } from 'node:worker_threads'
import { isLongJson, jsonTextSteps } from '../../../core/json-text.ts'
import { Clock } from '../../../core/memory/clock.ts'
import { attachMemory } from '../../../core/memory/region.ts'
import { finish, type Steps } from '../../../core/steps.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Cascade } from '../../../protocol/nouns/cascade.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { Fire } from '../../../protocol/nouns/fire.ts'
import type { Flavor } from '../../../protocol/nouns/flavor.ts'
import type { FlowCommit } from '../../../protocol/nouns/flow.ts'
import type { List } from '../../../protocol/nouns/list.ts'
import type { MessageHistory } from '../../../protocol/nouns/message.ts'
import type { NodeError } from '../../../protocol/nouns/node-error.ts'
import type { SearchResult } from '../../../protocol/nouns/search/found.ts'
import type { Summary, TimeseriesPoint } from '../../../protocol/nouns/summary.ts'
import { threadClock } from '../../../threads/thread-clock.ts'
import { Calls } from '../../watch/calls.ts'
import { inSlices } from '../../watch/slices.ts'
import type { WatchedThread } from '../../watch/thread-watch.ts'
import type { StoredSeen } from '../catalog/fires.ts'
import { type StoreBounds, storeBounds } from '../file/bounds.ts'
import type { Damage } from '../file/quarantine.ts'
import { LogClient } from './log-client.ts'
import { Reader } from './reader-client.ts'
import type { FlowRenamed, FlowWritten, Loaded, StoredCommit, StoreHealth, StoreReply } from './replies.ts'
import type {
  CascadesRequest,
  ControlRequest,
  EnableFlow,
  EventsRequest,
  HistoryRequest,
  KnownAddress,
  PageQuery,
  PutUser,
  ReadRequest,
  RecordKind,
  RecordRange,
  RecordWrite,
  Registration,
  RemoveFlow,
  RenameFlow,
  ResumedFlow,
  RevokedToken,
  Sample,
  SaveFlow,
  StoredRecord,
  StoredUser,
  StoreRequest,
  StoreStart,
  TimeseriesRequest,
} from './requests.ts'
import type { RetentionStore } from './retention.ts'
import { RunClient, type UnwrittenRun, writtenRun } from './run-client.ts'
import type { LogStore } from './run-logs.ts'
import type { RunStore } from './runs.ts'

export interface StoreOptions {
  data_dir: string
  sab: SharedArrayBuffer
  /** A line for the log of the service. */
  log: (text: string) => void
  /** Called when the health changes. */
  onHealth?: (health: StoreHealth) => void
  /** Called when the store thread ended without being asked to. Everything that waits for it is refused with `store_failed`. */
  onFailed?: (error: Error) => void
  bounds?: Partial<StoreBounds>
}

const DAMAGE_KEPT = 1000

/**
 * The front's side of the store. Writes resolve when they are on disk; a refusal is a `ServiceError`. Reads run on a thread
 * of their own, which starts with the first one.
 */
export class Store implements WatchedThread {
  readonly name = 'store'
  readonly isRunning = true
  readonly #worker: Worker
  readonly #clock: Clock
  readonly #calls = new Calls()
  readonly #reader: Reader
  readonly #options: StoreOptions
  readonly #exited: Promise<void>
  #closing = false
  health: StoreHealth = { fault: null, dropped: 0, failure: null }
  /** Damage found since the start, and at the start. */
  readonly damage: Damage[] = []
  readonly #damage_followers: ((damage: Damage) => void)[] = []
  readonly #followers: ((health: StoreHealth) => void)[] = []

  static async start(options: StoreOptions): Promise<{ store: Store; loaded: Loaded }> {
    const bounds = { ...storeBounds, ...options.bounds }
    const start: StoreStart = { data_dir: options.data_dir, sab: options.sab, bounds }
    const worker = new Worker(new URL('../writer/thread.ts', import.meta.url), { name: 'store', workerData: start })
    const store = new Store(worker, options, bounds)
    const loaded = await store.#loaded
    return { store, loaded }
  }

  readonly #loaded: Promise<Loaded>
  #events: EngineEvent[] = []
  /** Messages to post in this turn of the event loop, in order: posting costs more than most of the messages. */
  #outbox: StoreRequest[] = []
  /** How long the store thread has not answered; 0 while it answers. */
  #silent_ms = 0
  /** Resolves when the text of a long write of a run is made; null when none is being made. */
  #making: Promise<void> | null = null
  /** Whether there are answered writes that readers do not see yet. */
  #unseen = false

  private constructor(worker: Worker, options: StoreOptions, bounds: StoreBounds) {
    const { answer_bytes, export_runs, export_page_bytes } = bounds
    this.#worker = worker
    this.#clock = new Clock(attachMemory(options.sab), threadClock)
    this.#options = options
    this.#reader = new Reader(
      { data_dir: options.data_dir, sab: options.sab, answer_bytes, export_runs, export_page_bytes },
      place => this.#control({ type: 'put_aside', place }),
    )
    this.#exited = new Promise(resolve => worker.once('exit', () => resolve()))
    this.#loaded = new Promise((resolve, reject) => {
      worker.on('message', (reply: StoreReply) => {
        switch (reply.type) {
          case 'loaded':
            resolve(reply.loaded)
            return
          case 'not_started':
            this.#closing = true
            reject(ServiceError.from(reply.problem))
            return
          case 'answers':
            this.#unseen = reply.unseen
            for (const answer of reply.answers) {
              if ('problem' in answer) this.#calls.refused(answer.id, answer.problem)
              else this.#calls.done(answer.id, answer.result)
            }
            return
          case 'health':
            this.#setHealth(reply.health)
            return
          case 'damaged':
            if (this.damage.length < DAMAGE_KEPT) this.damage.push(reply.damage)
            for (const follower of this.#damage_followers) follower(reply.damage)
            return
          case 'log':
            options.log(`store: ${reply.text}`)
            return
          default:
            reply satisfies never
        }
      })
      const fail = (error: Error): void => {
        reject(error)
        this.#calls.failAll(new ServiceError('store_failed', `${error.message}.`))
        if (!this.#closing) options.onFailed?.(error)
        this.#closing = true
      }
      worker.on('error', fail)
      worker.on('exit', code => fail(new ServiceError('store_failed', `The store thread ended with code ${code}.`)))
    })
  }

  get reader(): WatchedThread {
    return this.#reader
  }

  ping(): Promise<unknown> | null {
    return this.#closing ? null : this.#call(id => ({ type: 'ping', id }))
  }

  /** It cannot be replaced while it may still write. Requests that wait are answered when it answers again; new ones are refused. */
  silent(ms: number): 'waits' {
    this.#silent_ms = ms
    return 'waits'
  }

  answers(): void {
    this.#silent_ms = 0
  }

  /** Post it before a record can carry one of the indexes. */
  register(registration: Registration): void {
    this.#post({ type: 'register', registration })
    this.#send()
  }

  /** The waiting items that the start has queued again. Nothing is committed before the store knows them. */
  resumed(flows: ResumedFlow[]): void {
    this.#post({ type: 'resumed', flows })
    this.#send()
  }

  saveFlow(save: SaveFlow): Promise<FlowWritten> {
    return this.#control({ type: 'save_flow', save })
  }

  /** Moves values, states, held values and history along. */
  renameFlow(rename: RenameFlow): Promise<FlowRenamed> {
    return this.#control({ type: 'rename_flow', rename })
  }

  /** Its commits stay, and its points as long as their retention says. */
  deleteFlow(remove: RemoveFlow): Promise<FlowWritten> {
    return this.#control({ type: 'delete_flow', remove })
  }

  setEnabled(enable: EnableFlow): Promise<FlowWritten> {
    return this.#control({ type: 'enable_flow', enable })
  }

  readonly users = {
    get: (name: string): Promise<StoredUser | null> => this.#call(id => ({ type: 'users', id, name })),
    list: (): Promise<StoredUser[]> => this.#call(id => ({ type: 'users', id, name: null })),
    put: (user: PutUser): Promise<StoredUser> => this.#control({ type: 'put_user', user }),
    /** Was there one? */
    delete: (name: string): Promise<boolean> => this.#control({ type: 'delete_user', name }),
    count: async (): Promise<number> => (await this.users.list()).length,
  }

  readonly records = {
    /** By id. */
    list: (kind: RecordKind, range: Partial<Omit<RecordRange, 'kind'>> = {}): Promise<StoredRecord[]> =>
      this.#call(id => ({
        type: 'records',
        id,
        range: { kind, from: '', to: null, limit: Number.MAX_SAFE_INTEGER, newest_first: false, ...range },
      })),
    /** All of them or none, on disk when it resolves. */
    write: (records: readonly RecordWrite[]): Promise<null> => this.#control({ type: 'write_records', records }),
  }

  readonly sign_ins = {
    know: (known: KnownAddress): Promise<null> => this.#control({ type: 'know_address', known }),
    revoke: (revoked: readonly RevokedToken[]): Promise<null> => this.#control({ type: 'revoke_tokens', revoked }),
  }

  readonly runs: RunStore = new RunClient({
    write: request => this.#writeRun(request),
    read: (request, given) => this.#reader.call(request, given),
    now_us: () => this.#clock.now_us(),
    seen: () => this.#seen(),
  })

  readonly logs: LogStore = new LogClient({ read: request => this.#reader.call(request), seen: () => this.#seen() })

  readonly retention: RetentionStore = {
    use: of => this.#readRuns({ type: 'retained_use', of }),
    page: (of, after, limit) => this.#readRuns({ type: 'retained_page', of, after, limit }),
    remove: (of, ids) => this.#writeRun({ type: 'remove_runs', of, ids }),
    tell: () => this.#writeRun({ type: 'tell_removals', at: this.#clock.now_us() }),
  }

  /** A read that sees all answered writes of runs. */
  async #readRuns<Result>(request: ReadRequest): Promise<Result> {
    await this.#seen()
    return this.#reader.call(request)
  }

  /** Resolves when readers see all answered writes; on a full disk they see the committed ones. */
  #seen(): Promise<unknown> | null {
    return this.#unseen ? this.flush().catch(() => null) : null
  }

  readonly flavors = {
    put: (flavor: Flavor): Promise<Flavor> => this.#control({ type: 'put_flavor', flavor }),
    /** Was there one? */
    delete: (name: string): Promise<boolean> => this.#control({ type: 'delete_flavor', name }),
  }

  putSetting(name: string, value: string): Promise<null> {
    return this.#control({ type: 'put_setting', name, value })
  }

  /** Returns how many errors of the node were not acknowledged before. */
  acknowledge(node: string): Promise<number> {
    return this.#control({ type: 'acknowledge', node })
  }

  dropStates(nodes: string[]): Promise<null> {
    return this.#control({ type: 'drop_states', nodes })
  }

  /** Resolves when what was marked before the call is on disk. */
  flush(): Promise<null> {
    return this.#control({ type: 'flush' })
  }

  /**
   * `flush` for values that were marked after `dropped` was read from `health`. Refused with `not_durable` when they may not be
   * on disk.
   */
  durable(dropped: number): Promise<null> {
    return this.#control({ type: 'durable', dropped })
  }

  /** Stored with the next group commit. */
  event(event: EngineEvent): void {
    this.#events.push(event)
    if (this.#events.length === 1) this.#post({ type: 'events', events: this.#events })
  }

  sample(sample: Sample): void {
    this.#post({ type: 'sample', sample })
  }

  history(query: HistoryRequest): Promise<MessageHistory> {
    return this.#readCommitted({ type: 'history', query })
  }

  /** The same as JSON text, made by the reader. */
  historyText(query: HistoryRequest): Promise<Uint8Array> {
    return this.#readCommitted({ type: 'text', of: { type: 'history', query } })
  }

  cascades(query: CascadesRequest): Promise<List<Cascade>> {
    return this.#readCommitted({ type: 'cascades', query })
  }

  cascade(id: string): Promise<Cascade> {
    return this.#readCommitted({ type: 'cascade', id })
  }

  events(query: EventsRequest): Promise<List<EngineEvent>> {
    return this.#readCommitted({ type: 'events', query })
  }

  commits(flow: string, page: PageQuery): Promise<List<FlowCommit>> {
    return this.#reader.call({ type: 'commits', flow, page })
  }

  /** `hash` may be any of the flow's commits, also one made under an earlier name. */
  commit(flow: string, hash: string): Promise<StoredCommit> {
    return this.#reader.call({ type: 'commit', flow, hash })
  }

  /** `FlowCommitDetail` as JSON text, made by the reader: the document, and how it differs from the one before. */
  commitText(flow: string, hash: string): Promise<Uint8Array> {
    return this.#reader.call({ type: 'text', of: { type: 'commit_detail', flow, hash } })
  }

  nodeErrors(node: string): Promise<NodeError[]> {
    return this.#readCommitted({ type: 'node_errors', node })
  }

  fires(node: string, page: PageQuery): Promise<List<Fire>> {
    return this.#readCommitted({ type: 'fires', node, page })
  }

  /** Up to when the fires of inject nodes are on record. */
  firesSeen(): Promise<StoredSeen[]> {
    return this.#readCommitted({ type: 'fires_seen' })
  }

  timeseries(query: TimeseriesRequest): Promise<TimeseriesPoint[]> {
    return this.#reader.call({ type: 'timeseries', query })
  }

  /** The digests, of those given, that a run records. */
  async recordedArtifacts(digests: readonly string[]): Promise<Set<string>> {
    return new Set(await this.#readCommitted<string[]>({ type: 'recorded_artifacts', digests }))
  }

  /** Changes of the last second may be missing. */
  search(text: string, limit: number): Promise<SearchResult> {
    return this.#reader.call({ type: 'search', text, limit })
  }

  disk(): Promise<Summary['disk']> {
    return this.#reader.call({ type: 'disk' })
  }

  /** Commits what is marked, closes the file and ends both threads. */
  async close(): Promise<void> {
    await this.#reader.close()
    if (this.#closing) return this.#exited
    this.#closing = true
    await this.#call(id => ({ type: 'close', id }))
    await this.#exited
  }

  /** Records that were marked before the call are committed first, so that a reader sees its own recent publishes. */
  async #readCommitted<Result>(request: ReadRequest): Promise<Result> {
    await this.flush()
    return this.#reader.call(request)
  }

  #setHealth(health: StoreHealth): void {
    if (health.failure !== null && health.failure !== this.health.failure) this.#options.log(`store: ${health.failure}`)
    this.health = health
    this.#options.onHealth?.(health)
    for (const follower of this.#followers) follower(health)
  }

  /** From now on, as `onHealth` from the start. */
  followHealth(follower: (health: StoreHealth) => void): void {
    this.#followers.push(follower)
  }

  /** Damage found so far, and damage found from now on. */
  followDamage(follower: (damage: Damage) => void): void {
    for (const damage of this.damage) follower(damage)
    this.#damage_followers.push(follower)
  }

  /** Sends writes in the order of the calls. The text of a long one is made in slices, and later ones wait for it. */
  #writeRun<Result>(request: UnwrittenRun): Promise<Result> {
    const post = (text: string): Promise<Result> => this.#call(id => ({ type: 'run_write', id, text }))
    if (this.#making === null && !isLongJson(request)) return post(JSON.stringify(finish(writtenRun(request))))
    const text = (this.#making ?? Promise.resolve()).then(() => inSlices(runWriteText(request)))
    const answered = text.then(post)
    const done = (): void => {
      if (this.#making === made) this.#making = null
    }
    // The caller gets a failure; writes behind it go on.
    const made: Promise<void> = text.then(done, done)
    this.#making = made
    return answered
  }

  #control<Result>(request: ControlRequest): Promise<Result> {
    return this.#call(id => ({ type: 'control', id, request }))
  }

  #call<Result>(make: (id: number) => StoreRequest): Promise<Result> {
    return this.#calls.open(id => this.#post(make(id)))
  }

  #post(request: StoreRequest): void {
    if (this.#closing && request.type !== 'close') {
      if ('id' in request) throw new ServiceError('store_failed', 'The store is closed.')
      return
    }
    if (this.#silent_ms > 0 && 'id' in request && request.type !== 'ping' && request.type !== 'close') {
      const text = `The store thread has not answered for ${Math.round(this.#silent_ms / 1000)} s`
      throw new ServiceError('store_silent', `${text}; nothing was written.`, { retry_after_s: limits.STORE_RETRY_S })
    }
    this.#outbox.push(request)
    if (this.#outbox.length === 1) setImmediate(() => this.#send())
  }

  #send(): void {
    if (this.#outbox.length === 0) return
    this.#events = []
    this.#worker.postMessage(this.#outbox)
    this.#outbox = []
  }
}

function* runWriteText(request: UnwrittenRun): Steps<string> {
  return yield* jsonTextSteps(yield* writtenRun(request))
}

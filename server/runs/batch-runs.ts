import { hash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import type { Masks } from '../../core/masks/table.ts'
import { checkInputs, inputsOf, placeOf, unknownInputs } from '../../core/runs/inputs.ts'
import { replaceReferences } from '../../core/runs/references.ts'
import { type ErrorPlace, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { didYouMean } from '../../protocol/nearest.ts'
import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import type {
  ChangeRun,
  CreateRun,
  MetricSeriesList,
  Run,
  RunCounts,
  RunNode,
  RunNodeWhy,
  Runnable,
  RunSummary,
  RunTotals,
} from '../../protocol/nouns/run.ts'
import { formatTime } from '../../protocol/time.ts'
import { keyText } from '../../protocol/values/canonical-json.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { isLive } from '../../protocol/words/run-status.ts'
import type { RunPlaces } from '../../protocol/worker/resources.ts'
import type { Kept } from '../../threads/calls/artifact-files.ts'
import { isSource } from '../../threads/nodes/types/index.ts'
import type {
  AnsweredRun,
  ExportMetricsRequest,
  ExportRunsRequest,
  JsonText,
  MetricNames,
  NewRun,
  RepeatRun,
  RunAnswer,
  RunExport,
  RunSearch,
  RunSelection,
  RunStore,
  SeriesRequest,
  StoredRunHead,
  StoredRunNode,
} from '../store/front/runs.ts'
import { shownNode, shownRun } from '../store/front/shown-run.ts'
import { inSlices, Slice } from '../watch/slices.ts'
import type { Coordinator } from './coordinator.ts'
import { RunReferences } from './run-references.ts'
import { eventOf, queuedRun } from './run-view.ts'
import { isDiskRefusal } from './run-writes.ts'
import { artifactsNamed } from './stage-cache.ts'

export type RunsPage = Page & RunSelection

export interface CreatedBatchRun<Answer = Run> {
  run: Answer
  /** The idempotency key named an existing run, which is answered. */
  replayed: boolean
  /** The existing run has other inputs than the request. */
  mismatch: boolean
}

/** Who deletes, and from where. */
export interface Deleter {
  readonly name: string
  readonly address: string
}

/** Batch runs. */
export interface Runs {
  /** Resolves when the run is durable. */
  create(flow: string, request: CreateRun, caller: string): Promise<CreatedBatchRun>
  /** The same, as `GET /runs/{id}` answers it. */
  createShown(flow: string, request: CreateRun, caller: string): Promise<CreatedBatchRun<RunAnswer>>
  /** What a run of the flow would execute now. */
  runnable(flow: string): Promise<Runnable>
  /** A page holds at most `limits.LIST_BYTES` of JSON. */
  list(page: RunsPage): Promise<List<RunSummary> & { counts: RunCounts; totals: RunTotals }>
  /** The runs that fit, as JSON that the reader thread has made. */
  search(search: RunSearch): Promise<JsonText>
  /** The whole run as JSON. It may be long, so this thread never parses it. */
  text(id: string): Promise<JsonText>
  /** The same as `text`, parsed; for callers in this process that know that it is short. */
  get(id: string): Promise<Run>
  /** At most `most` ids that begin with `text`, or whose last group does. */
  idsFrom(text: string, most: number): Promise<string[]>
  /** Refuses with `run_not_found`. */
  exists(id: string): Promise<void>
  /** JSON text when the nodes are stored; the list when the run executes and they are in memory. */
  nodesText(id: string): Promise<JsonText | List<RunNode>>
  nodes(id: string): Promise<List<RunNode>>
  cancel(id: string, by: string): Promise<Run>
  cancelShown(id: string, by: string): Promise<RunAnswer>
  retry(id: string, caller: string): Promise<Run>
  /** Changes its tags and its note. */
  change(id: string, change: ChangeRun, by: string): Promise<Run>
  changeShown(id: string, change: ChangeRun, by: string): Promise<RunAnswer>
  /** Deletes a run that has ended, with its nodes, metrics and logs, unless another run reuses its nodes. Its events stay. */
  delete(id: string, by: Deleter): Promise<void>
  why(id: string, node: string): Promise<RunNodeWhy>
  /** The run places (`FLOW_MAX_RUNS`). */
  places(): RunPlaces
  metricNames(selection: RunSelection): Promise<MetricNames>
  series(request: SeriesRequest): Promise<MetricSeriesList>
  exportMetrics(request: ExportMetricsRequest): Promise<RunExport>
  exportRuns(request: ExportRunsRequest): Promise<RunExport>
}

/** The parts of a flow that a new run needs. */
export interface RunnableFlow {
  readonly name: string
  readonly version: number
  readonly commit: string
  readonly origin: Record<string, unknown> | null
  readonly document: NormalDocument
}

export interface BatchRunsParts {
  readonly store: RunStore
  readonly coordinator: Coordinator
  /** Throws `flow_not_found`. */
  flow(name: string): RunnableFlow
  /** Of the repository around the installation, read now; null without one. */
  codeDigest(): Promise<{ digest: string; commit: string } | null>
  dtypeOf(flow: string, message: string): Dtype | null
  fits(value: unknown, dtype: Dtype): { text: string } | null
  /** Copies a volatile artifact to the disk. */
  keepArtifact(digest: string): Kept | Promise<Kept>
  /** See `StageCache.leave`. */
  leaveCache(runs: readonly string[]): () => void
  /** For what the record of a run shows of its inputs. */
  readonly masks: Masks
  now_us(): number
  announce(type: EventType, flow: string | null, more: Record<string, unknown>): void
  /** Sends an event to watchers; the store has it already. */
  tell(event: EngineEvent): void
}

/** Inputs of a new run, checked and resolved. */
type Resolved = Pick<NewRun, 'inputs' | 'resolved' | 'inputs_digest'>

/** Batch runs for routes. Mistakes of users are refused here, before anything is written. */
export class BatchRuns implements Runs {
  readonly #parts: BatchRunsParts
  readonly #references: RunReferences

  constructor(parts: BatchRunsParts) {
    this.#parts = parts
    this.#references = new RunReferences(parts.store)
  }

  async create(name: string, request: CreateRun, caller: string): Promise<CreatedBatchRun> {
    const { run, ...told } = await this.createShown(name, request, caller)
    return { run: await understood(run), ...told }
  }

  async createShown(name: string, request: CreateRun, caller: string): Promise<CreatedBatchRun<RunAnswer>> {
    const flow = this.#parts.flow(name)
    const inputs = request.inputs ?? {}
    const seed = request.seed ?? null
    const groups = request.group === undefined ? [] : [request.group]
    const tags = [...new Set(request.tags)]
    let digested: Resolved
    try {
      digested = await this.#resolve(flow, inputs, seed)
    } catch (error) {
      const there = await this.#repeated(request, { flow: name, created_by: caller, groups, tags }, error)
      const given = await this.#parts.store.inputs(there.id)
      const slice = new Slice()
      const key = keyText({ inputs: given, seed: there.seed })
      await slice.rest()
      return { run: await this.#shown(there), replayed: true, mismatch: keyText({ inputs, seed }) !== key }
    }
    return this.#create({
      id: uuidv7(),
      flow: name,
      cause: request.cause ?? 'api',
      created_by: caller,
      seed,
      timeout: request.timeout ?? null,
      no_cache: request.no_cache ?? false,
      groups,
      tags,
      note: request.note ?? '',
      idempotency_key: request.idempotency_key ?? null,
      version: flow.version,
      commit: flow.commit,
      origin: flow.origin,
      origin_commit: request.origin_commit ?? null,
      ...digested,
      retry_of: null,
      attempt: 1,
    })
  }

  /** Answers the existing run of the key, even when the flow's inputs have changed since. Throws the refusal when there is none. */
  async #repeated(
    { idempotency_key }: CreateRun,
    repeat: Omit<RepeatRun, 'idempotency_key'>,
    refusal: unknown,
  ): Promise<AnsweredRun> {
    if (idempotency_key === undefined || !(refusal instanceof ServiceError)) throw refusal
    const there = await this.#parts.store.repeat({ ...repeat, idempotency_key })
    if (there === null) throw refusal
    return there
  }

  async runnable(name: string): Promise<Runnable> {
    const { version, commit, document } = this.#parts.flow(name)
    const nodes = document.nodes.map(({ position: _, ...node }) => node)
    const code = await this.#parts.codeDigest()
    return {
      flow: name,
      version,
      commit,
      content_digest: sha256(keyText({ ...document, nodes })),
      code_digest: code?.digest ?? null,
      origin_commit: code?.commit ?? null,
    }
  }

  /** Runs the present version of the flow with the inputs of the old run. */
  async retry(id: string, caller: string): Promise<Run> {
    const before = await this.#existing(id)
    if (isLive(before.status)) throw new ServiceError('run_not_ended', `Run ${id} is ${before.status}.`)
    const flow = this.#parts.flow(before.flow)
    const inputs = await this.#parts.store.inputs(id)
    const resolved = await this.#resolve(flow, inputs, before.seed)
    const { run } = await this.#create({
      id: uuidv7(),
      flow: flow.name,
      cause: before.cause,
      created_by: caller,
      seed: before.seed,
      timeout: before.timeout,
      no_cache: before.no_cache,
      groups: before.groups,
      tags: before.tags,
      note: '',
      idempotency_key: null,
      version: flow.version,
      commit: flow.commit,
      origin: flow.origin,
      origin_commit: before.origin_commit,
      ...resolved,
      retry_of: id,
      attempt: before.attempt + 1,
    })
    return understood(run)
  }

  async #create(run: NewRun): Promise<CreatedBatchRun<RunAnswer>> {
    const { id, flow, groups, cause, created_by } = run
    const group = groups[0] ?? null
    const event = eventOf('run_created', flow, this.#parts.now_us(), { run: id, group, cause, by: created_by })
    const recorded = await this.#masked(run)
    const { created_at, there } = await this.#parts.store.create(recorded, event)
    if (there !== null) {
      const mismatch = there.inputs_digest !== run.inputs_digest
      return { run: await this.#shown(there), replayed: true, mismatch }
    }
    this.#parts.tell(event)
    this.#parts.coordinator.queued(queuedRun(run, created_at))
    return { run: shownRun(queuedRun(recorded, created_at), created_at), replayed: false, mismatch: false }
  }

  /** As its record shows it. */
  async #masked(run: NewRun): Promise<NewRun> {
    const given = { inputs: run.inputs, resolved: run.resolved }
    const masked = await inSlices(this.#parts.masks.deepSteps(given))
    return masked === given ? run : { ...run, ...masked, given }
  }

  /** A long run is streamed from the reader thread to the socket. */
  async #shown(run: AnsweredRun): Promise<RunAnswer> {
    if ('inputs' in run) return shownRun(run, this.#parts.now_us())
    const text = await this.#parts.store.runText(run.id, run.cancel_requested_at)
    if (text === null) throw notFound(run.id)
    return text
  }

  async list({ limit, offset, ...selection }: RunsPage) {
    return this.#parts.store.list({ ...selection, limit, offset })
  }

  search(search: RunSearch): Promise<JsonText> {
    return this.#parts.store.search(search)
  }

  async text(id: string): Promise<JsonText> {
    const text = await this.#parts.store.runText(id)
    if (text === null) throw notFound(id)
    return text
  }

  async get(id: string): Promise<Run> {
    return parsed(await this.text(id)) as Promise<Run>
  }

  idsFrom(text: string, most: number): Promise<string[]> {
    return this.#parts.store.idsFrom(text, most)
  }

  async exists(id: string): Promise<void> {
    await this.#existing(id)
  }

  async nodesText(id: string): Promise<JsonText | List<RunNode>> {
    const run = await this.#existing(id)
    const rows = this.#parts.coordinator.nodes(id)
    if (rows === null) return this.#parts.store.nodesText(id)
    rows.sort((a, b) => a.position - b.position)
    return { items: rows.map(row => shownNode(run, row)), count: rows.length }
  }

  async nodes(id: string): Promise<List<RunNode>> {
    const nodes = await this.nodesText(id)
    return 'items' in nodes ? nodes : (parsed(nodes) as Promise<List<RunNode>>)
  }

  /** The nodes in memory while the run goes on, since they are newer. */
  async #rows(run: StoredRunHead): Promise<StoredRunNode[]> {
    const rows = this.#parts.coordinator.nodes(run.id) ?? (await this.#parts.store.nodes(run.id))
    return rows.sort((a, b) => a.position - b.position)
  }

  async cancel(id: string, by: string): Promise<Run> {
    return understood(await this.cancelShown(id, by))
  }

  async cancelShown(id: string, by: string): Promise<RunAnswer> {
    const marked = await this.#markCancelled(id)
    if (marked === null) {
      const run = await this.#existing(id)
      throw new ServiceError('run_ended', `Run ${id} is ${run.status}.`)
    }
    this.#parts.coordinator.cancel(marked, by)
    this.#parts.announce('run_cancel_requested', marked.flow, { run: id, by })
    if (!isLive(marked.status)) this.#parts.announce('run_finished', marked.flow, { run: id, status: marked.status })
    return this.#shown(marked)
  }

  async change(id: string, change: ChangeRun, by: string): Promise<Run> {
    return understood(await this.changeShown(id, change, by))
  }

  async changeShown(id: string, change: ChangeRun, by: string): Promise<RunAnswer> {
    const { flow } = await this.#existing(id)
    const { note, ...tags } = change
    // Events do not carry the note, which may be long: it is read at the run.
    const told = { ...tags, ...(note === undefined ? {} : { note: note !== '' }) }
    const event = eventOf('run_changed', flow, this.#parts.now_us(), { run: id, ...told, by })
    const run = await this.#parts.store.change({ id, ...change }, event)
    if (run === null) throw notFound(id)
    this.#parts.tell(event)
    return this.#shown(run)
  }

  async delete(id: string, by: Deleter): Promise<void> {
    const run = await this.#existing(id)
    const event = this.#deletion(run, by)
    // First of all, so that no new run reuses it.
    const back = this.#parts.leaveCache([id])
    try {
      const reuser = this.#parts.coordinator.reuser(id)
      if (reuser !== null) throw new ServiceError('run_in_use', `Run ${reuser} reuses nodes of run ${id}.`)
      if (!(await this.#parts.store.delete(id, event))) throw notFound(id)
    } finally {
      back()
    }
    this.#parts.tell(event)
  }

  /** The audit event of a deletion. Its `run` is null, because the run no longer exists. */
  #deletion({ id, flow, created_by }: StoredRunHead, { name: actor, address }: Deleter): EngineEvent {
    const audit = { action: 'run_deleted', actor, object: `run:${id}`, address, result: 'ok' }
    const ts = formatTime(this.#parts.now_us())
    return { type: 'audit', ts, flow, run: null, ...audit, created_by }
  }

  /** When the disk refuses the mark, a run that executes is ended all the same; a restart would end it in any case. */
  async #markCancelled(id: string): Promise<AnsweredRun | null> {
    const now = this.#parts.now_us()
    try {
      return await this.#parts.store.requestCancel(id, now)
    } catch (error) {
      if (!isDiskRefusal(error) || !this.#parts.coordinator.isExecuting(id)) throw error
      const run = await this.#existing(id)
      return { ...run, cancel_requested_at: run.cancel_requested_at ?? now }
    }
  }

  places(): RunPlaces {
    return this.#parts.coordinator.places
  }

  async why(id: string, node: string): Promise<RunNodeWhy> {
    const run = await this.#existing(id)
    const row = (await this.#rows(run)).find(one => one.node === node)
    if (row === undefined) throw new ServiceError('node_not_found', `Run ${id} has no node "${node}".`)
    const { status, cached_from, parts } = row
    const told = { run: id, node, status, cached_from }
    if (status === 'cached') return { ...told, cache: 'hit', nearest: cached_from, changed: [] }
    if (run.no_cache) return { ...told, cache: 'off', nearest: null, changed: [] }
    if (parts === null) return { ...told, cache: 'not_cacheable', nearest: null, changed: [] }
    const nearest = await this.#parts.store.nearest(id, node, parts)
    return { ...told, cache: 'miss', nearest: nearest?.run ?? null, changed: nearest?.changed ?? [] }
  }

  async metricNames(selection: RunSelection): Promise<MetricNames> {
    await this.#named(selection, [])
    return this.#parts.store.metricNames(selection)
  }

  async series(request: SeriesRequest): Promise<MetricSeriesList> {
    const { items, next } = await this.#parts.store.series(request)
    return next === null ? { items, count: items.length } : { items, count: items.length, next }
  }

  async exportMetrics(request: ExportMetricsRequest): Promise<RunExport> {
    await this.#named(request, request.name === null ? [] : [request.name])
    return this.#parts.store.exportMetrics(request)
  }

  async exportRuns(request: ExportRunsRequest): Promise<RunExport> {
    await this.#named(request, request.metrics)
    return this.#parts.store.exportRuns(request)
  }

  /** Refuses an unknown flow, group or tag, and metrics that none of the selected runs has. An empty answer would hide the mistake. */
  async #named({ flow, group, tags, status, since, before }: RunSelection, metrics: readonly string[]): Promise<void> {
    const selection = { flow, group, ...(tags === undefined ? {} : { tags }), status, since, before }
    if (flow !== null) {
      const { count } = await this.#parts.store.list({ ...EVERY_RUN, flow, limit: 1, offset: 0 })
      // A deleted flow still has its runs.
      if (count === 0) this.#parts.flow(flow)
    }
    if (group !== null) await this.#assertNamed('group', group)
    for (const tag of tags ?? []) await this.#assertNamed('tag', tag)
    if (metrics.length === 0) return
    const read = await this.#parts.store.metricNames(selection)
    const names = new Set(read.names)
    const unknown = metrics.filter(name => !names.has(name))
    if (unknown.length === 0) return
    const meant = unknown.length === 1 ? didYouMean(unknown[0]!, names) : ''
    const told = unknown.slice(0, 5).join(', ')
    const which = read.before === null ? '' : `newest ${limits.METRIC_NAME_RUNS} `
    throw new ServiceError('metric_not_found', `None of the ${which}selected runs carries ${told}.${meant}`)
  }

  async #assertNamed(of: 'group' | 'tag', name: string): Promise<void> {
    const names = await this.#parts.store.namesNear({ of, name })
    if (names.includes(name)) return
    const told = of === 'group' ? `No run is in group "${name}".` : `No run has the tag "${name}".`
    throw new ServiceError(`${of}_not_found`, `${told}${didYouMean(name, names)}`)
  }

  async #existing(id: string): Promise<StoredRunHead> {
    const run = await this.#parts.store.head(id)
    if (run === null) throw notFound(id)
    return run
  }

  // ---- inputs

  /** In slices: inputs of 1 MiB take some ten milliseconds to check, as much to digest, and as much to write. */
  async #resolve(flow: RunnableFlow, asked: Readonly<Record<string, unknown>>, seed: number | null): Promise<Resolved> {
    const slice = new Slice()
    const world = (message: string): Dtype | null => {
      const dot = message.indexOf('.')
      return this.#parts.dtypeOf(message.slice(0, dot), message.slice(dot + 1))
    }
    const inputs = inputsOf(flow.document, world, isSource)
    refuse(flow.name, unknownInputs(inputs, asked))
    const { given, references, values, errors: wrong } = await this.#references.in(asked)
    refuse(flow.name, wrong)
    const replaced = replaceReferences(given, references, inputs, reference => values.get(reference.text))
    const fits = (value: unknown, dtype: Dtype): string | null => this.#parts.fits(value, dtype)?.text ?? null
    await slice.rest()
    const { resolved, errors } = checkInputs(inputs, replaced, seed, fits)
    refuse(flow.name, errors)
    await slice.rest()
    refuse(flow.name, await this.#notStored(resolved))
    await slice.rest()
    const inputs_digest = sha256(keyText({ inputs: resolved, seed }))
    await slice.rest()
    return { inputs: given, resolved, inputs_digest }
  }

  /** A run keeps the artifacts that its inputs name, so all of them must be stored. */
  async #notStored(resolved: Readonly<Record<string, unknown>>): Promise<ErrorPlace[]> {
    const errors: ErrorPlace[] = []
    for (const [name, value] of Object.entries(resolved)) {
      for (const digest of artifactsNamed(value)) {
        const kept = this.#parts.keepArtifact(digest)
        const became = typeof kept === 'string' ? kept : await kept
        if (became === 'stored') continue
        const why = became === 'absent' ? 'is not stored' : 'was volatile and has fallen out'
        errors.push({ loc: placeOf(name), msg: `names ${digest}, which ${why}; store it first` })
        break
      }
    }
    return errors.slice(0, limits.ERROR_PLACES)
  }
}

const EVERY_RUN: RunSelection = { flow: null, group: null, status: null, since: null, before: null }

const notFound = (id: string): ServiceError => new ServiceError('run_not_found', `There is no run ${id}.`)

const understood = async (answer: RunAnswer): Promise<Run> =>
  'id' in answer ? answer : ((await parsed(answer)) as Run)

async function parsed(text: JsonText): Promise<unknown> {
  if (text instanceof Uint8Array) return JSON.parse(Buffer.from(text).toString())
  const decoder = new TextDecoder()
  let whole = ''
  for await (const page of text) whole += decoder.decode(page, { stream: true })
  return JSON.parse(whole + decoder.decode())
}

function refuse(flow: string, errors: readonly ErrorPlace[]): void {
  if (errors.length > 0) throw new ServiceError('bad_input', `A run of "${flow}" cannot have these inputs.`, { errors })
}

const sha256 = (text: string): string => hash('sha256', text, 'hex')

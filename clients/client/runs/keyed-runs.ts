import type { CreateRun, Run, Runnable, RunSummary } from '../../../protocol/nouns/run.ts'
import { keyText } from '../../../protocol/values/canonical-json.ts'
import { isFailed } from './run-wait.ts'

export interface CreatedRun {
  run: Run
  /** The key named a run that was there already: it is the one answered. */
  replayed: boolean
  /** And the inputs of that run are others than those that were given. */
  mismatch: boolean
}

/** The engine, as far as keyed runs ask it. */
interface KeyedRequests {
  create(flow: string, request: CreateRun): Promise<CreatedRun>
  get(id: string): Promise<Run>
  list(selection: { flow: string; group?: string }): AsyncIterable<RunSummary>
  runnable(flow: string): Promise<Runnable>
  /** Of a short id, the id. */
  whole(id: string): Promise<string>
}

/** What a request would get. */
export interface Found {
  /** Its newest run; null while there is none. */
  run: RunSummary | Run | null
  /** `start` would start one. */
  is_missing: boolean
}

/**
 * Runs whose keys are made of all that decides what comes out: what the flow would execute now (its content and the digest of the code
 * around the installation), the inputs, the seed, the timeout, and whether the stage cache is used. A request again finds its run, and
 * after a change of the flow or of the code it is another run. However many ask at once, one is started, since the engine answers
 * the same run for the same key.
 *
 * A run that failed, or that was claimed after the code had changed once more, does not count: the next one has the key with `.2`,
 * `.3` and so on. A retry of a failed run counts in its place, when it executed the same.
 */
export class KeyedRuns {
  readonly #runs: KeyedRequests
  readonly #flow: string
  /** Keys begin with it. */
  readonly #kind: string
  #runnable: Promise<Runnable> | null = null
  readonly #whole = new Map<string, Promise<string>>()
  /** Read once, for what a single request does not show: runs of a group, or under '' of the whole flow. */
  readonly #read = new Map<string, Promise<ReadRuns>>()

  constructor(runs: KeyedRequests, flow: string, kind: string) {
    this.#runs = runs
    this.#flow = flow
    this.#kind = kind
  }

  /** As it was when it was first asked for. */
  get runnable(): Promise<Runnable> {
    return (this.#runnable ??= this.#runs.runnable(this.#flow))
  }

  /** The digest of all that requests without inputs would have in common. */
  async base(request: CreateRun): Promise<string> {
    const { inputs: _, ...rest } = request
    return sha256(await this.#text(rest))
  }

  async start(request: CreateRun): Promise<CreatedRun> {
    const key = await this.#key(request)
    for (let attempt = 1; ; attempt++) {
      const created = await this.#runs.create(this.#flow, { ...request, idempotency_key: attemptKey(key, attempt) })
      const run = created.replayed ? await this.#counted(created.run) : created.run
      if (run !== null) return { ...created, run: 'inputs_resolved' in run ? run : await this.#runs.get(run.id) }
    }
  }

  /** What `start` would do, and starts nothing. */
  async look(request: CreateRun): Promise<Found> {
    const key = await this.#key(request)
    const { byKey } = await this.#runsOf('')
    let run: Found['run'] = null
    for (let attempt = 1; ; attempt++) {
      const there = byKey.get(attemptKey(key, attempt))
      if (there === undefined) return { run, is_missing: true }
      const counted = await this.#counted(there)
      if (counted !== null) return { run: counted, is_missing: false }
      run = there
    }
  }

  /** The run, or the newest retry of it that has not failed; null when it does not count. */
  async #counted(run: Run | RunSummary): Promise<Found['run']> {
    const { code_digest, commit } = await this.runnable
    // One that was not started yet is claimed under whatever code there is then.
    const isSame = (one: Run | RunSummary): boolean =>
      (one.started_at === null || one.code_digest === code_digest) &&
      (one.commit === run.commit || one.commit === commit)
    if (!isFailed(run)) return isSame(run) ? run : null
    // A retry stays in the groups of its run.
    const { retries } = await this.#runsOf(run.group ?? '')
    let newest: Found['run'] = null
    const look = (one: Run | RunSummary): void => {
      if (!isFailed(one) && isSame(one) && (newest === null || one.created_at > newest.created_at)) newest = one
      for (const retry of retries.get(one.id) ?? []) look(retry)
    }
    look(run)
    return newest
  }

  #runsOf(group: string): Promise<ReadRuns> {
    let read = this.#read.get(group)
    if (read === undefined) this.#read.set(group, (read = this.#readAll(group)))
    return read
  }

  async #readAll(group: string): Promise<ReadRuns> {
    const byKey = new Map<string, RunSummary>()
    const retries = new Map<string, RunSummary[]>()
    for await (const run of this.#runs.list({ flow: this.#flow, ...(group === '' ? {} : { group }) })) {
      if (run.idempotency_key !== null) byKey.set(run.idempotency_key, run)
      if (run.retry_of === null) continue
      const others = retries.get(run.retry_of)
      if (others === undefined) retries.set(run.retry_of, [run])
      else others.push(run)
    }
    return { byKey, retries }
  }

  async #key(request: CreateRun): Promise<string> {
    return `${this.#kind}:${await sha256(await this.#text(request))}`
  }

  async #text({ inputs = {}, seed, timeout, no_cache, idempotency_key }: CreateRun): Promise<string> {
    const { content_digest, code_digest } = await this.runnable
    return keyText({
      content_digest,
      code_digest,
      inputs: await this.#named(inputs),
      seed: seed ?? null,
      timeout: timeout ?? null,
      no_cache: no_cache ?? false,
      key: idempotency_key ?? null,
    })
  }

  /** References by a short id become those of the whole one: what a key is made of must not depend on what other runs there are. */
  async #named(inputs: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
    const named = { ...inputs }
    for (const [name, value] of Object.entries(inputs)) {
      const [, id, output] = (typeof value === 'string' && REFERENCE.exec(value)) || []
      if (id === undefined) continue
      let whole = this.#whole.get(id)
      if (whole === undefined) this.#whole.set(id, (whole = this.#runs.whole(id)))
      named[name] = `@run:${await whole}${output}`
    }
    return named
  }
}

/** Of a run's output; what is not of this form is for the engine to judge. */
const REFERENCE = /^@run:([0-9a-f-]{4,35})(\..+)$/

interface ReadRuns {
  readonly byKey: ReadonlyMap<string, RunSummary>
  /** By the run that was retried. */
  readonly retries: ReadonlyMap<string, readonly RunSummary[]>
}

const attemptKey = (key: string, attempt: number): string => (attempt === 1 ? key : `${key}.${attempt}`)

/** In hex. Not of Node's own, since browsers have this one too. */
async function sha256(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(bytes), byte => byte.toString(16).padStart(2, '0')).join('')
}

import type { CreateRun, Run } from '../../../../protocol/nouns/run.ts'
import type { Client } from '../../../client/client.ts'

/** One combination of a sweep. */
export interface Entry {
  /** Idempotency key of its first run. */
  readonly key: string
  readonly request: CreateRun
  /** Its newest run; null while there is none. */
  run: Run | null
  /** Started by this command; on a dry run, to be started. */
  is_started: boolean
}

/**
 * The runs of a sweep's entries. The first run of an entry has its key; one that is started because the last one failed has
 * the key with `.2`, `.3` and so on. A run that `svc retry` made instead is found by its inputs. However many sweeps of the
 * same grid run at once, an entry is started once, since the engine answers the same run for the same key.
 */
export class SweepRuns {
  readonly #client: Client
  readonly #flow: string
  readonly #groups = new Map<string, Promise<Run[]>>()

  constructor(client: Client, flow: string) {
    this.#client = client
    this.#flow = flow
  }

  /** Starts the entry, unless it has a run that did not fail. */
  async start(entry: Entry): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const idempotency_key = attemptKey(entry.key, attempt)
      const { run, replayed } = await this.#client.runs.create(this.#flow, { ...entry.request, idempotency_key })
      const newest = replayed && isFailed(run) ? await this.#again(run) : run
      if (replayed && isFailed(newest)) continue
      entry.run = newest
      entry.is_started = !replayed
      return
    }
  }

  /** What `start` would do, and starts nothing. */
  async look(entries: readonly Entry[]): Promise<void> {
    const byKey = new Map<string, Run>()
    for await (const run of this.#client.runs.list({ flow: this.#flow }))
      if (run.idempotency_key !== null) byKey.set(run.idempotency_key, run)
    for (const entry of entries) {
      entry.is_started = true
      for (let attempt = 1; entry.is_started; attempt++) {
        const run = byKey.get(attemptKey(entry.key, attempt))
        if (run === undefined) break
        entry.run = isFailed(run) ? await this.#again(run) : run
        entry.is_started = isFailed(entry.run)
      }
    }
  }

  /** The newest run of the same group with the same inputs. */
  async #again(run: Run): Promise<Run> {
    if (run.group === null) return run
    let group = this.#groups.get(run.group)
    if (group === undefined) {
      group = this.#all(run.group)
      this.#groups.set(run.group, group)
    }
    return (await group).find(({ inputs_digest }) => inputs_digest === run.inputs_digest) ?? run
  }

  async #all(group: string): Promise<Run[]> {
    const runs: Run[] = []
    for await (const run of this.#client.runs.list({ flow: this.#flow, group })) runs.push(run)
    return runs
  }
}

const attemptKey = (key: string, attempt: number): string => (attempt === 1 ? key : `${key}.${attempt}`)

/** It ended, and has no result. */
export const isFailed = ({ status }: Run): boolean => status === 'failed' || status === 'cancelled'

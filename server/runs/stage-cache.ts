import { limits } from '../../protocol/limits.ts'
import type { CacheOrigin, RunStore } from '../store/front/runs.ts'

export interface StageCacheParts {
  store: Pick<RunStore, 'cached' | 'cacheIndex'>
  /** Whether the bytes of the digest (`sha256:...`) are still stored. */
  hasArtifact(digest: string): boolean
}

interface Entry {
  origin: CacheOrigin
  /** Digests of the artifacts that its values name. */
  artifacts: readonly string[]
  bytes: number
}

/**
 * Which nodes have run before on the same values: the newest origins in memory, the others in the store. A run that needs
 * a key which another run computes waits for that run.
 *
 *   free --lead--> led --settled, or given up--> free
 */
export class StageCache {
  readonly #parts: StageCacheParts
  /** Ordered by last use, once there are so many that some will be removed. */
  readonly #entries = new Map<string, Entry>()
  readonly #led = new Map<string, PromiseWithResolvers<void>>()
  /** The keys of each run that has entries. */
  readonly #keys = new Map<string, Set<string>>()
  /** Runs that are being removed. */
  readonly #leaving = new Set<string>()
  #bytes = 0
  /** All origins of the store are in memory, so a key that is not found here is a miss. */
  #complete = false

  constructor(parts: StageCacheParts) {
    this.#parts = parts
  }

  async load(): Promise<void> {
    const { origins, complete } = await this.#parts.store.cacheIndex(
      limits.CACHE_INDEX_ENTRIES / 2,
      limits.CACHE_INDEX_BYTES / 2,
    )
    for (const origin of origins.reverse()) this.#keep(origin)
    this.#complete = complete
  }

  /** The origin of a key, if its artifacts still exist. Answers at once when the memory decides. */
  find(key: string): CacheOrigin | null | Promise<CacheOrigin | null> {
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      if (this.#entries.size > limits.CACHE_INDEX_ENTRIES / 2 || this.#bytes > limits.CACHE_INDEX_BYTES / 2) {
        this.#entries.delete(key)
        this.#entries.set(key, entry)
      }
      return this.#isWhole(entry) ? entry.origin : null
    }
    return this.#complete ? null : this.#ask(key)
  }

  async #ask(key: string): Promise<CacheOrigin | null> {
    const [origin] = await this.#parts.store.cached([key])
    if (origin === undefined || this.#leaving.has(origin.run)) return null
    return this.#isWhole(this.#keep(origin)) ? origin : null
  }

  /** Adds an origin that its run writes before any run that reuses it writes. */
  add(origin: CacheOrigin): void {
    this.#keep(origin)
  }

  /**
   * Called before runs are removed: until the returned function is called, no run finds their nodes, neither here nor in the store.
   * Their entries are dropped even if the runs stay.
   */
  leave(runs: readonly string[]): () => void {
    for (const run of runs) {
      this.#leaving.add(run)
      for (const key of this.#keys.get(run) ?? []) {
        this.#drop(key)
        // An older run may have the key, too.
        this.#complete = false
      }
    }
    return () => {
      for (const run of runs) this.#leaving.delete(run)
    }
  }

  /** Null: the caller computes the key and calls `settle` afterwards. Otherwise another run computes it: search again when the promise resolves. */
  lead(key: string): Promise<void> | null {
    const led = this.#led.get(key)
    if (led !== undefined) return led.promise
    this.#led.set(key, Promise.withResolvers<void>())
    return null
  }

  settle(key: string): void {
    this.#led.get(key)?.resolve()
    this.#led.delete(key)
  }

  #isWhole({ artifacts }: Entry): boolean {
    return artifacts.length === 0 || artifacts.every(digest => this.#parts.hasArtifact(digest))
  }

  #keep(origin: CacheOrigin): Entry {
    this.#drop(origin.key)
    const bytes = bytesIn(origin.outputs) * 2 + 512
    const artifacts = origin.outputs.flatMap(({ value }) => artifactsIn(value))
    const kept: Entry = { origin, artifacts, bytes }
    this.#entries.set(origin.key, kept)
    const keys = this.#keys.get(origin.run)
    if (keys === undefined) this.#keys.set(origin.run, new Set([origin.key]))
    else keys.add(origin.key)
    this.#bytes += bytes
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= limits.CACHE_INDEX_ENTRIES && this.#bytes <= limits.CACHE_INDEX_BYTES) break
      this.#drop(key)
      this.#complete = false
    }
    return kept
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#bytes -= entry.bytes
    const { run } = entry.origin
    const keys = this.#keys.get(run)!
    keys.delete(key)
    if (keys.size === 0) this.#keys.delete(run)
  }
}

const DIGEST = /^sha256:[0-9a-f]{64}$/

/** Artifacts that an input of a run names; a bare digest counts, too. */
export const artifactsNamed = (value: unknown): string[] =>
  typeof value === 'string' && DIGEST.test(value) ? [value] : artifactsIn(value)

/** About the length of its JSON, without making it, which takes some ten milliseconds for large outputs. */
function bytesIn(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let bytes = 2
  // Long lists are of numbers: no call for each.
  if (Array.isArray(value)) for (const item of value) bytes += typeof item === 'number' ? 4 : bytesIn(item)
  else for (const key in value) bytes += key.length + 3 + bytesIn((value as Record<string, unknown>)[key])
  return bytes
}

/** The digests of all artifact references in a value, however deep. */
export function artifactsIn(value: unknown, found: string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return found
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') artifactsIn(item, found)
    return found
  }
  const { digest, media_type } = value as Record<string, unknown>
  if (typeof digest === 'string' && typeof media_type === 'string' && DIGEST.test(digest)) found.push(digest)
  for (const item of Object.values(value)) artifactsIn(item, found)
  return found
}

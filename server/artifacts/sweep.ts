import { digestOf } from '../../protocol/artifact-names.ts'
import { limits } from '../../protocol/limits.ts'
import type { ArtifactSweep } from '../../protocol/nouns/artifact.ts'
import type { FileEntry, OldArtifacts } from './messages.ts'
import type { ArtifactThread } from './thread-client.ts'

/** What artifacts are held to; 0: nothing. */
export interface ArtifactRule {
  /** For which one that nobody uses is kept after it was last stored. */
  readonly days: number
  /** Of all artifacts. */
  readonly bytes: number
}

export interface SweeperParts {
  readonly thread: ArtifactThread
  /** Those of the digests that a run records. */
  recorded(digests: readonly string[]): Promise<ReadonlySet<string>>
  /** The digests that live messages name at this moment. */
  held(): Promise<ReadonlySet<string>>
  isRunInFlight(): boolean
  swept(report: ArtifactSweep): void
  /** The first count that is over the budget; again after one that was within it. */
  overBudget(report: ArtifactSweep): void
  failed(error: unknown): void
  readonly rule: ArtifactRule
  /** Seconds between two sweeps; 0: none by itself. */
  readonly interval_s: number
  /** Seconds for which what was written is spared. */
  readonly spared_s?: number
  /** Milliseconds since 1970. */
  readonly clock?: () => number
}

const DAY_MS = 86_400_000
const FOLDERS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/**
 * Removes artifacts that nobody needs any more, with four mercies: what a run records stays, what a live message names stays, what
 * was written in the last hour stays, and while a run is in flight nothing is done.
 *
 *   old -> not recorded, not held -> taken aside -> looked at again -> gone, or back under its name
 *
 * The second look sees what was recorded or published between the first one and the moment at which new readers stop finding it
 * under its name; readers look aside too, so it is never missed meanwhile.
 *
 * A rule may keep unused artifacts for days. When all artifacts together are over its budget, the oldest unused ones go before
 * that, down to those of the last hour. What is over the budget then is told, and stays: it belongs to a run, a message or the last hour.
 */
export class Sweeper {
  readonly #parts: SweeperParts
  #timer: NodeJS.Timeout | null = null
  #present: Promise<ArtifactSweep> | null = null
  #closed = false
  /** Of all artifacts, by the last count; null before the first one. */
  #bytes: number | null = null
  #is_over = false

  constructor(parts: SweeperParts) {
    this.#parts = parts
  }

  start(): void {
    const { interval_s } = this.#parts
    if (interval_s === 0) return
    const next = (): void => {
      this.#timer = setTimeout(() => {
        this.sweep()
          .catch(error => this.#parts.failed(error))
          .finally(() => this.#closed || next())
      }, interval_s * 1000)
      this.#timer.unref()
    }
    next()
  }

  /** One at a time: whoever asks while one is under way gets that one. */
  sweep(): Promise<ArtifactSweep> {
    this.#present ??= this.#sweep().finally(() => (this.#present = null))
    return this.#present
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#present?.catch(() => {})
  }

  /** By the last sweep, with what was stored since over HTTP; null before the first one. */
  get bytes(): number | null {
    return this.#bytes
  }

  /** Somebody has stored bytes that were not there. */
  stored(bytes: number): void {
    if (this.#bytes !== null) this.#bytes += bytes
  }

  async #sweep(): Promise<ArtifactSweep> {
    const { swept, overBudget, rule, clock = Date.now, spared_s = limits.ARTIFACT_SPARED_S } = this.#parts
    const report: ArtifactSweep = {
      stood_aside: false,
      seen: 0,
      spared: 0,
      recorded: 0,
      held: 0,
      removed: 0,
      removed_bytes: 0,
      bytes: 0,
      over_bytes: 0,
    }
    const spared_ms = clock() - spared_s * 1000
    const before_ms = Math.min(spared_ms, clock() - rule.days * DAY_MS)
    await this.#removeOld(before_ms, report)
    if (before_ms < spared_ms && rule.bytes > 0) await this.#removeOldest(before_ms, spared_ms, report)
    this.#bytes = report.bytes
    report.over_bytes = rule.bytes === 0 ? 0 : Math.max(0, report.bytes - rule.bytes)
    swept(report)
    if (report.over_bytes > 0 && !this.#is_over) overBudget(report)
    this.#is_over = report.over_bytes > 0
    return report
  }

  /** All folders are counted, also when a run is in flight. */
  async #removeOld(before_ms: number, report: ArtifactSweep): Promise<void> {
    let waiting: string[] = []
    for (const folder of FOLDERS) {
      if (this.#closed) {
        report.stood_aside = true
        return
      }
      const { seen, bytes, old } = await this.#old(folder, before_ms)
      report.seen += seen
      report.bytes += bytes
      report.spared += seen - old.length
      if (this.#standsAside) report.stood_aside = true
      if (report.stood_aside) continue
      for (const { hex } of old) waiting.push(hex)
      const isLast = folder === FOLDERS.at(-1)
      while (waiting.length >= limits.ARTIFACT_SWEEP_BATCH || (isLast && waiting.length > 0)) {
        if (this.#standsAside) break
        await this.#judge(waiting.splice(0, limits.ARTIFACT_SWEEP_BATCH), before_ms, report)
      }
      if (!this.#standsAside) continue
      waiting = []
      report.stood_aside = true
    }
  }

  /** Of what the rule would keep for longer, until the budget holds. */
  async #removeOldest(before_ms: number, spared_ms: number, report: ArtifactSweep): Promise<void> {
    while (report.bytes > this.#parts.rule.bytes && !report.stood_aside) {
      const oldest = await this.#oldestUnused(before_ms, spared_ms, report.bytes - this.#parts.rule.bytes)
      const { removed } = report
      while (oldest.length > 0 && !this.#standsAside)
        await this.#judge(oldest.splice(0, limits.ARTIFACT_SWEEP_BATCH), spared_ms, report)
      report.stood_aside = this.#standsAside
      if (report.removed === removed) return
    }
  }

  /** Enough of them for so many bytes, or as many as one round takes. */
  async #oldestUnused(from_ms: number, before_ms: number, bytes: number): Promise<string[]> {
    let found: FileEntry[] = []
    let taken = 0
    for (const folder of FOLDERS) {
      const { old } = await this.#old(folder, before_ms)
      const within = old.filter(({ written_ms }) => written_ms >= from_ms)
      while (within.length > 0) {
        if (this.#standsAside) return []
        const batch = within.splice(0, limits.ARTIFACT_SWEEP_BATCH)
        const unused = new Set(await this.#unneeded(batch.map(({ hex }) => hex)))
        for (const entry of batch) {
          if (!unused.has(entry.hex)) continue
          found.push(entry)
          taken += entry.size
        }
        if (taken > 2 * bytes || found.length > 2 * limits.ARTIFACT_SWEEP_OLDEST) {
          found = oldestFirst(found, bytes)
          taken = found.reduce((sum, { size }) => sum + size, 0)
        }
      }
    }
    return oldestFirst(found, bytes).map(({ hex }) => hex)
  }

  #old(folder: string, before_ms: number): Promise<OldArtifacts> {
    return this.#parts.thread.call<OldArtifacts>({ type: 'old', folder, before_ms })
  }

  get #standsAside(): boolean {
    return this.#closed || this.#parts.isRunInFlight()
  }

  async #judge(old: readonly string[], before_ms: number, report: ArtifactSweep): Promise<void> {
    const { thread } = this.#parts
    const unneeded = await this.#unneeded(old, report)
    if (unneeded.length === 0) return
    const claimed = await thread.call<string[]>({ type: 'claim', hexes: unneeded, before_ms })
    let remove: string[] = []
    try {
      if (!this.#standsAside) remove = await this.#unneeded(claimed, report)
    } finally {
      const back = claimed.filter(hex => !remove.includes(hex))
      const bytes = await thread.call<number>({ type: 'settle', back, remove })
      report.removed_bytes += bytes
      report.bytes -= bytes
      report.removed += remove.length
    }
  }

  async #unneeded(hexes: readonly string[], report: ArtifactSweep | null = null): Promise<string[]> {
    const { recorded, held } = this.#parts
    const byRuns = await recorded(hexes.map(digestOf))
    // After the runs, of which the reader tells in its own time: what is published meanwhile is seen.
    const byMessages = await held()
    const unneeded = hexes.filter(hex => !byRuns.has(digestOf(hex)) && !byMessages.has(digestOf(hex)))
    for (const hex of report === null ? [] : hexes) {
      if (byRuns.has(digestOf(hex))) report!.recorded++
      else if (byMessages.has(digestOf(hex))) report!.held++
    }
    return unneeded
  }
}

/** As many as make up the bytes. */
function oldestFirst(entries: FileEntry[], bytes: number): FileEntry[] {
  entries.sort((a, b) => a.written_ms - b.written_ms)
  let taken = 0
  const enough = entries.findIndex(({ size }) => (taken += size) >= bytes) + 1
  return entries.slice(0, Math.min(enough === 0 ? entries.length : enough, limits.ARTIFACT_SWEEP_OLDEST))
}

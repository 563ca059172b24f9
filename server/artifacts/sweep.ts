import { digestOf } from '../../protocol/artifact-names.ts'
import { limits } from '../../protocol/limits.ts'
import type { ArtifactSweep } from '../../protocol/nouns/artifact.ts'
import type { OldArtifacts } from './messages.ts'
import type { ArtifactThread } from './thread-client.ts'

export interface SweeperParts {
  readonly thread: ArtifactThread
  /** Those of the digests that a run records. */
  recorded(digests: readonly string[]): Promise<ReadonlySet<string>>
  /** The digests that live messages name at this moment. */
  held(): Promise<ReadonlySet<string>>
  isRunInFlight(): boolean
  swept(report: ArtifactSweep): void
  failed(error: unknown): void
  /** Seconds between two sweeps; 0: none by itself. */
  readonly interval_s: number
  /** Seconds for which what was written is spared. */
  readonly spared_s?: number
  /** Milliseconds since 1970. */
  readonly clock?: () => number
}

const FOLDERS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/**
 * Removes artifacts that nobody needs any more, with four mercies: what a run records stays, what a live message names stays, what
 * was written in the last hour stays, and while a run is in flight nothing is done.
 *
 *   old -> not recorded, not held -> taken aside -> looked at again -> gone, or back under its name
 *
 * The second look sees what was recorded or published between the first one and the moment at which new readers stop finding it
 * under its name; readers look aside too, so it is never missed meanwhile.
 */
export class Sweeper {
  readonly #parts: SweeperParts
  #timer: NodeJS.Timeout | null = null
  #present: Promise<ArtifactSweep> | null = null
  #closed = false

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

  async #sweep(): Promise<ArtifactSweep> {
    const { thread, swept, clock = Date.now, spared_s = limits.ARTIFACT_SPARED_S } = this.#parts
    const report = { stood_aside: false, seen: 0, spared: 0, recorded: 0, held: 0, removed: 0, removed_bytes: 0 }
    const before_ms = clock() - spared_s * 1000
    let waiting: string[] = []
    for (const folder of FOLDERS) {
      const { seen, old } = await thread.call<OldArtifacts>({ type: 'old', folder, before_ms })
      report.seen += seen
      report.spared += seen - old.length
      waiting.push(...old)
      const isLast = folder === FOLDERS.at(-1)
      while (waiting.length >= limits.ARTIFACT_SWEEP_BATCH || (isLast && waiting.length > 0)) {
        if (this.#standsAside) break
        await this.#judge(waiting.splice(0, limits.ARTIFACT_SWEEP_BATCH), before_ms, report)
      }
      if (!this.#standsAside) continue
      waiting = []
      report.stood_aside = true
      break
    }
    swept(report)
    return report
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
      report.removed_bytes += await thread.call<number>({ type: 'settle', back, remove })
      report.removed += remove.length
    }
  }

  async #unneeded(hexes: readonly string[], report: ArtifactSweep): Promise<string[]> {
    const { recorded, held } = this.#parts
    const byRuns = await recorded(hexes.map(digestOf))
    // After the runs, of which the reader tells in its own time: what is published meanwhile is seen.
    const byMessages = await held()
    const unneeded = hexes.filter(hex => !byRuns.has(digestOf(hex)) && !byMessages.has(digestOf(hex)))
    for (const hex of hexes) {
      if (byRuns.has(digestOf(hex))) report.recorded++
      else if (byMessages.has(digestOf(hex))) report.held++
    }
    return unneeded
  }
}

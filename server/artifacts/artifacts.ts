import type { ArtifactSweep, StoredArtifact, VerifyLine } from '../../protocol/nouns/artifact.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import type { DiskClass } from '../../protocol/nouns/summary.ts'
import type { ArtifactPlace } from '../../threads/calls/artifact-files.ts'
import type { Answer } from '../http/route.ts'
import type { ArtifactAsked } from './artifact-answer.ts'
import { ArtifactStore, type StoredBytes } from './store.ts'
import { Sweeper, type SweeperParts } from './sweep.ts'

export interface Artifacts {
  readonly place: ArtifactPlace
  /** `length`: bytes, null when nobody knows. On disk when it resolves. A piece is done with before the next is asked for. */
  put(
    bytes: AsyncIterable<Uint8Array>,
    length: number | null,
  ): Promise<{ digest: string; size: number; is_new: boolean }>
  answer(asked: ArtifactAsked): Answer
  /** Whose hex digits begin so, at most so many. */
  digestsFrom(hex: string, most: number): Promise<string[]>
  list(page: Page): Promise<List<StoredArtifact>>
  verify(): AsyncIterable<VerifyLine>
  sweep(): Promise<ArtifactSweep>
}

export interface EngineArtifactsParts extends Omit<SweeperParts, 'thread'> {
  readonly data_dir: string
  /** 0: no bound. */
  readonly max_bytes: number
  /** Of the volatile store. */
  readonly volatile_bytes: number
  /** Bodies run as another user. */
  readonly shared: boolean
}

/** The artifacts of an engine and the sweep over them. */
export class EngineArtifacts extends ArtifactStore implements Artifacts {
  readonly #sweeper: Sweeper
  readonly #budget: number

  constructor(parts: EngineArtifactsParts) {
    super(parts.data_dir, parts.max_bytes, parts.volatile_bytes, parts.shared)
    this.#budget = parts.rule.bytes
    this.#sweeper = new Sweeper({ ...parts, thread: this.thread })
  }

  start(): void {
    this.#sweeper.start()
  }

  override async put(bytes: AsyncIterable<Uint8Array>, length: number | null): Promise<StoredBytes> {
    const stored = await super.put(bytes, length)
    if (stored.is_new) this.#sweeper.stored(stored.size)
    return stored
  }

  sweep(): Promise<ArtifactSweep> {
    return this.#sweeper.sweep()
  }

  /** What shows of them beside the classes of the database; nothing before they were counted. */
  disk(): DiskClass[] {
    const { bytes } = this.#sweeper
    return bytes === null ? [] : [{ class: 'artifacts', bytes, budget_bytes: this.#budget || null }]
  }

  override async close(): Promise<void> {
    await this.#sweeper.close()
    await super.close()
  }
}

import type { ArtifactSweep } from '../../protocol/nouns/artifact.ts'
import type { Artifacts } from '../engine.ts'
import { ArtifactStore } from './store.ts'
import { Sweeper, type SweeperParts } from './sweep.ts'

export interface EngineArtifactsParts extends Omit<SweeperParts, 'thread'> {
  readonly data_dir: string
  /** 0: no bound. */
  readonly max_bytes: number
}

/** The artifacts of an engine and the sweep over them. */
export class EngineArtifacts extends ArtifactStore implements Artifacts {
  readonly #sweeper: Sweeper

  constructor(parts: EngineArtifactsParts) {
    super(parts.data_dir, parts.max_bytes)
    this.#sweeper = new Sweeper({ ...parts, thread: this.thread })
  }

  start(): void {
    this.#sweeper.start()
  }

  sweep(): Promise<ArtifactSweep> {
    return this.#sweeper.sweep()
  }

  override async close(): Promise<void> {
    await this.#sweeper.close()
    await super.close()
  }
}

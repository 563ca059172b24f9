import type { EventType } from '../protocol/nouns/event.ts'
import { EngineArtifacts, type EngineArtifactsParts } from './artifacts/artifacts.ts'
import type { Config } from './config.ts'
import type { Log } from './observe/serve-log.ts'

export interface ArtifactsParts extends Pick<EngineArtifactsParts, 'data_dir' | 'recorded' | 'held' | 'isRunInFlight'> {
  readonly config: Pick<
    Config,
    'max_artifact_bytes' | 'artifact_volatile_bytes' | 'artifact_gc_interval_s' | 'artifacts_keep'
  >
  readonly clock: { age_us(): number }
  /** Whether bodies run as another user, who must be able to read them. */
  readonly isShared: boolean
  readonly announce: (type: EventType, flow: string | null, more: Record<string, unknown>) => void
  readonly log: Log
}

/** The artifacts of an engine, which tell of their sweeps. */
export function openArtifacts(parts: ArtifactsParts): EngineArtifacts {
  const { data_dir, config, clock, isShared, announce, log } = parts
  return new EngineArtifacts({
    data_dir,
    max_bytes: config.max_artifact_bytes,
    volatile_bytes: config.artifact_volatile_bytes,
    shared: isShared,
    interval_s: config.artifact_gc_interval_s,
    rule: config.artifacts_keep,
    clock: () => clock.age_us() / 1000,
    recorded: parts.recorded,
    held: parts.held,
    isRunInFlight: parts.isRunInFlight,
    swept: report => {
      announce('artifacts_swept', null, { ...report })
      const { removed: count, removed_bytes: bytes } = report
      const audit = { action: 'artifacts_removed', actor: null, object: 'artifacts', address: '', result: 'ok' }
      if (count > 0) announce('audit', null, { ...audit, count, bytes })
    },
    overBudget: ({ bytes, over_bytes }) => {
      announce('artifacts_over_budget', null, { bytes, over_bytes, budget_bytes: config.artifacts_keep.bytes })
      log.warn('artifacts_over_budget', { bytes, over_bytes, budget_bytes: config.artifacts_keep.bytes })
    },
    failed: error => log.error('artifacts_not_swept', { error }),
  })
}

import type { LiveBounds } from './calls/bounds.ts'
import type { Config } from './config.ts'
import type { Log } from './observe/serve-log.ts'
import type { KeyFile } from './secrets/sealing.ts'
import type { OpenedStore } from './store/front/open-store.ts'
import type { FrontWatch } from './watch/front-watch.ts'

export interface LiveEngineOptions {
  readonly config: Pick<
    Config,
    | 'lanes'
    | 'isolation'
    | 'body_user'
    | 'keep_node_errors'
    | 'max_cascades'
    | 'max_runs'
    | 'max_workers'
    | 'timezone'
    | 'max_artifact_bytes'
    | 'retention'
    | 'artifact_gc_interval_s'
    | 'artifacts_keep'
    | 'artifact_volatile_bytes'
    | 'reach'
    | 'cpus'
    | 'gpus'
  >
  readonly data_dir: string
  readonly log: Log
  /** What keys of secrets are derived from. */
  readonly key_file: KeyFile
  /** Over this thread; one that never looks when absent. */
  readonly front_watch?: FrontWatch
  /** The store when it is being opened already. */
  readonly opening?: Promise<OpenedStore>
  /** The machine's clock, milliseconds since 1970; `Date.now` when absent. */
  readonly wall_ms?: () => number
  /** What bodies of batch runs print is printed, too. */
  readonly prints?: boolean
  /** Those of `bounds.ts` when absent. */
  readonly bounds?: LiveBounds
  /** The store thread ended, or something else that the process cannot outlive. */
  readonly onFatal: (error: Error) => void
}

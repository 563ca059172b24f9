import type { Artifacts } from './artifacts/artifacts.ts'
import type { Flows } from './flows/flows.ts'
import type { Messages } from './flows/messages.ts'
import type { Nodes } from './flows/nodes.ts'
import type { Cascades } from './flows/reruns.ts'
import type { Hooks } from './hooks/hooks.ts'
import type { Observe } from './observe/observe.ts'
import type { Runs } from './runs/batch-runs.ts'
import type { RunLogs } from './runs/run-logs.ts'

/**
 * What the routes and the sockets ask of the live engine. Everything that a user can get wrong comes back as a thrown
 * `ServiceError` and leaves everything as it was. All of it runs on the front thread; promises wait for the store or the reader.
 */
export interface Engine {
  readonly flows: Flows
  readonly messages: Messages
  readonly nodes: Nodes
  readonly cascades: Cascades
  readonly observe: Observe
  readonly runs: Runs
  readonly run_logs: RunLogs
  readonly artifacts: Artifacts
  readonly hooks: Hooks
  /** Loads every body again: lanes are replaced between turns, call threads get a fresh module cache. Resolves when it is done. */
  refreshModules(): Promise<void>
}

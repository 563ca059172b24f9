import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { FlowSummary } from '../../../protocol/nouns/flow.ts'
import type { Issue } from '../../../protocol/nouns/issue.ts'
import type { ActivityFrame, FlowActivity, NodeActivity } from '../../../protocol/socket/activity.ts'
import type { WorkerResources } from '../../../protocol/worker/resources.ts'

/** What the dashboard knows of an engine. Plain data, so that it can be kept as it is while the screen is paused. */

export interface FlowState {
  readonly name: string
  enabled: boolean
  updated_by: string
  nodes: number
  issues: readonly Issue[]
  /** Null until the first figures have come. */
  activity: FlowActivity | null
  line: readonly number[]
}

export interface RunState {
  readonly id: string
  readonly flow: string
  readonly status: 'queued' | 'running'
  readonly created_at: string
  readonly started_at: string | null
  /** 0 to 1; null: its nodes are not known yet. */
  progress: number | null
  /** One of its nodes at least is not in line for something. */
  isWorking: boolean
  /** What it does now, in words. */
  doing: string
}

export interface EngineState {
  readonly url: string
  /** The folder of the installation; empty when the engine is elsewhere. */
  readonly name: string
  version: string
  started_ms: number | null
  flows: Record<string, FlowState>
  /** All flows have been listed once. */
  isListed: boolean
  per_s: number
  cascades: { in_flight: number; limit: number } | null
  /** When the last figures came, in ms of a steady clock; null: none yet. */
  heard_ms: number | null
  isConnected: boolean
  nodes: { flow: string; items: readonly NodeActivity[] } | null
  /** Running ones, the longest first; then those that wait. */
  runs: RunState[]
  resources: WorkerResources | null
  panels: number | null
  /** The newest last. */
  log: EngineEvent[]
  /** Counts up with each event that was added. */
  logged: number
}

/** Events that are kept to scroll back to. */
export const LOG_KEPT = 1_000

export const newEngineState = (url: string, name: string): EngineState => ({
  url,
  name,
  version: '',
  started_ms: null,
  flows: Object.create(null) as Record<string, FlowState>,
  isListed: false,
  per_s: 0,
  cascades: null,
  heard_ms: null,
  isConnected: false,
  nodes: null,
  runs: [],
  resources: null,
  panels: null,
  log: [],
  logged: 0,
})

/** The flows that there are now; what is known of their activity stays. */
export function listFlows(state: EngineState, listed: readonly FlowSummary[]): void {
  const before = state.flows
  state.flows = Object.create(null) as Record<string, FlowState>
  for (const { name, enabled, updated_by, nodes, issues } of listed) {
    const { activity = null, line = [] } = before[name] ?? {}
    state.flows[name] = { name, enabled, updated_by, nodes, issues, activity, line }
  }
  state.isListed = true
}

/** Answers whether a flow came that is not listed, or the trouble of one is another: then the list is out of date. */
export function hearActivity(state: EngineState, frame: ActivityFrame, now_ms: number): boolean {
  state.heard_ms = now_ms
  state.isConnected = true
  state.per_s = frame.per_s
  state.cascades = frame.cascades
  if (frame.nodes !== undefined) state.nodes = frame.nodes
  let isOld = false
  for (const activity of frame.flows) {
    const flow = state.flows[activity.flow]
    if (flow === undefined) {
      isOld = true
      continue
    }
    const { down = 0, errors = 0 } = flow.activity ?? {}
    if (down !== activity.down || errors !== activity.errors) isOld = true
    flow.activity = activity
    if (activity.last_minute !== undefined) flow.line = activity.last_minute
  }
  return isOld
}

/** Nobody reads them: what a run does shows in its row. */
const UNLOGGED = new Set(['run_metric', 'run_node', 'audit', 'message_value'])

export function hearEvent(state: EngineState, event: EngineEvent): void {
  if (UNLOGGED.has(event.type)) return
  state.log.push(event)
  state.logged++
  // In lumps: one at a time would move all of them each time.
  if (state.log.length > 2 * LOG_KEPT) state.log.splice(0, state.log.length - LOG_KEPT)
}

import type { NodeActivity } from '../../protocol/socket/activity.ts'
import { type EngineState, type FlowState, LOG_KEPT, type RunState } from './state/engine-state.ts'
import { issuesOf } from './state/issues.ts'
import { type Sort, step } from './state/order.ts'
import { type Wait, waitsOf } from './state/waits.ts'

export const PARTS = ['flows', 'nodes', 'runs', 'issues', 'log'] as const
export type Part = (typeof PARTS)[number]

/** What covers the screen until a key is pressed: the keys, a whole line of the log, the first password. */
export interface Overlay {
  readonly title: string
  readonly lines: readonly string[]
  readonly top: number
}

/** What whoever looks has chosen. The cursor of a part is on a thing, not on a row, so that it stays when rows change places. */
export interface View {
  readonly part: Part
  /** By part, the id of what it is on; absent: on the first. */
  readonly cursor: Readonly<Partial<Record<Part, string>>>
  /** The nodes of the flow under the cursor stand in place of the list, where there is no room for both. */
  readonly isOpen: boolean
  readonly sort: Sort
  readonly filter: string
  readonly isFiltering: boolean
  /** Since when, in ms of the steady clock; null: not paused. */
  readonly paused_ms: number | null
  readonly overlay: Overlay | null
}

export const FIRST_VIEW: View = {
  part: 'flows',
  cursor: {},
  isOpen: false,
  sort: 'need',
  filter: '',
  isFiltering: false,
  paused_ms: null,
  overlay: null,
}

/** All that a screen is drawn from. */
export interface Shown {
  readonly engine: EngineState
  readonly view: View
  /** The flows that the filter lets through, in order. */
  readonly flows: readonly FlowState[]
  /** Of the steady clock. */
  readonly now_ms: number
  /** Of the machine's clock, since 1970. */
  readonly wall_ms: number
}

export interface ShownRow {
  readonly id: string
}

export interface RunRow extends ShownRow {
  readonly run: RunState | null
  readonly wait: Wait | null
}

/** Runs that are under way, then who waits. */
export function runRows({ runs, resources }: EngineState): RunRow[] {
  const waits = waitsOf(runs, resources)
  const inLine = new Set(waits.map(({ run }) => run))
  // A run that only waits stands among those that wait.
  const working = runs.filter(({ id, status, isWorking }) => status === 'running' && (isWorking || !inLine.has(id)))
  return [
    ...working.map(run => ({ id: run.id, run, wait: null })),
    ...waits.map((wait, at) => ({ id: `${wait.run ?? wait.flow} waits ${at}`, run: null, wait })),
  ]
}

export interface LogRow extends ShownRow {
  readonly at: number
}

/** Positions in the log, the newest last. The id counts all events, so that it stays while the oldest fall out. */
export function logRows({ log, logged }: EngineState): LogRow[] {
  const first = Math.max(0, log.length - LOG_KEPT)
  return Array.from({ length: log.length - first }, (_, at) => ({
    at: first + at,
    id: String(logged - log.length + first + at),
  }))
}

/** What lists are made of. */
export type Listed = Pick<Shown, 'engine' | 'flows' | 'view'>

/** The nodes of the flow under the cursor: what needs a look first, then by rate. */
export function nodeRows(shown: Listed): readonly NodeActivity[] {
  const { nodes } = shown.engine
  const flow = flowUnder(shown)
  if (nodes === null || flow === null || nodes.flow !== flow.name) return []
  const trouble = flow.issues.filter(({ advisory }) => !advisory)
  const down = new Set(trouble.filter(({ code }) => code === 'node_down').map(({ node }) => node))
  const failed = new Set(trouble.map(({ node }) => node))
  const rank = ({ id, per_s }: NodeActivity): number => (down.has(id) ? 2e6 : failed.has(id) ? 1e6 : step(per_s))
  return nodes.items.toSorted((a, b) => rank(b) - rank(a))
}

/** What the cursor may be on in a part, in order. */
export function rowsOf(part: Part, shown: Listed): readonly ShownRow[] {
  const { engine, flows } = shown
  switch (part) {
    case 'flows':
      return flows.map(({ name }) => ({ id: name }))
    case 'nodes':
      return nodeRows(shown)
    case 'runs':
      return runRows(engine)
    case 'issues':
      return issuesOf(engine).issues
    case 'log':
      return logRows(engine)
  }
}

/** The row that the cursor is on; -1: there is none. In the log it is on the newest line unless it was moved. */
export function cursorIn(rows: readonly ShownRow[], part: Part, { cursor }: View): number {
  const found = rows.findIndex(({ id }) => id === cursor[part])
  return found >= 0 ? found : part === 'log' ? rows.length - 1 : Math.min(0, rows.length - 1)
}

/** The flow under the cursor. */
export function flowUnder({ flows, view }: Listed): FlowState | null {
  return flows.find(({ name }) => name === view.cursor.flows) ?? flows[0] ?? null
}

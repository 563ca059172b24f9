import type { EngineState, FlowState } from './engine-state.ts'

/** What needs a look, the worst first; the rest is `normal`. */
export const NEEDS = ['down', 'error', 'fills', 'normal', 'disabled'] as const
export type Need = (typeof NEEDS)[number]

export const SORTS = ['need', 'name', 'rate', 'queue', 'p99'] as const
export type Sort = (typeof SORTS)[number]

/** How it is named in the head of the list. */
export const SORT_TEXTS: Readonly<Record<Sort, string>> = {
  need: 'by need, then rate',
  name: 'by name',
  rate: 'by rate',
  queue: 'by queue',
  p99: 'by p99',
}

/** As `FLOW_PRESSURE_SHOWN` of protocol/limits.ts, which is not loaded for it. */
export const FILLS: typeof import('../../../protocol/limits.ts').limits.FLOW_PRESSURE_SHOWN = 0.6

export function needOf({ enabled, activity, issues }: FlowState): Need {
  if (!enabled) return 'disabled'
  if (activity !== null && activity.down > 0) return 'down'
  if ((activity !== null && activity.errors > 0) || issues.some(({ advisory }) => !advisory)) return 'error'
  if (activity !== null && activity.share >= FILLS) return 'fills'
  return 'normal'
}

/** The flows that the filter lets through, in the order of the list. */
export function orderedFlows(state: EngineState, sort: Sort, filter: string): FlowState[] {
  const wanted = filter.toLowerCase()
  const keyed = Object.values(state.flows)
    .filter(({ name }) => wanted === '' || name.toLowerCase().includes(wanted))
    .map(flow => ({ flow, keys: keysOf(flow, sort) }))
  keyed.sort((a, b) => {
    for (let at = 0; at < a.keys.length; at++) if (a.keys[at] !== b.keys[at]) return a.keys[at]! - b.keys[at]!
    return a.flow.name < b.flow.name ? -1 : 1
  })
  return keyed.map(({ flow }) => flow)
}

function keysOf(flow: FlowState, sort: Sort): number[] {
  const { activity } = flow
  switch (sort) {
    case 'name':
      return []
    case 'rate':
      return [-step(activity?.per_s ?? 0)]
    case 'queue':
      return [-Math.round((activity?.share ?? 0) * 20)]
    case 'p99':
      return [-step((activity?.p99_s ?? 0) * 1e6)]
    case 'need':
      return [NEEDS.indexOf(needOf(flow)), -step(activity?.per_s ?? 0)]
  }
}

/** Figures within a fifth of each other are alike, so that two that tremble do not change places all the time. */
export const step = (figure: number): number => (figure <= 0 ? -100 : Math.round(Math.log(figure) / Math.log(1.2)))

import type { IconName } from '../parts/Icon.tsx'

export interface Place {
  readonly path: string
  readonly name: string
  readonly icon: IconName
  /** The second key of its shortcut, behind `g`. */
  readonly key: string | null
}

/** What is used daily, and what is used seldom. */
export const PLACES: readonly Place[] = [
  { path: '/', name: 'Home', icon: 'home', key: 'h' },
  { path: '/flows', name: 'Flows', icon: 'flow', key: 'f' },
  { path: '/messages', name: 'Messages', icon: 'wave', key: 'm' },
  { path: '/runs', name: 'Runs', icon: 'run', key: 'r' },
  { path: '/dashboards', name: 'Dashboards', icon: 'board', key: 'd' },
]
export const SELDOM: readonly Place[] = [
  { path: '/workers', name: 'Workers', icon: 'chip', key: null },
  { path: '/artifacts', name: 'Artifacts', icon: 'box', key: null },
  { path: '/events', name: 'Events', icon: 'list', key: null },
  { path: '/settings', name: 'Settings', icon: 'tune', key: null },
]
/** On a phone: the rest of them in a list. */
export const MORE: Place = { path: '/more', name: 'More', icon: 'dots', key: null }

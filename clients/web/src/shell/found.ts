import type { Found } from '../../../../protocol/nouns/search/found.ts'
import type { IconName } from '../parts/icons.ts'

const ICONS: Readonly<Record<Found['kind'], IconName>> = {
  ...{ flow: 'flow', node: 'code', message: 'wave', dashboard: 'board', panel: 'screen' },
  ...{ run: 'run', artifact: 'box', user: 'user', secret: 'key' },
}

export const iconOfFound = ({ kind }: Pick<Found, 'kind'>): IconName => ICONS[kind]

/** Where the app shows a thing that was found. */
export function pathOfFound({ kind, name, flow }: Pick<Found, 'kind' | 'name' | 'flow'>): string {
  const encoded = encodeURIComponent(name)
  switch (kind) {
    case 'flow':
      return `/flows/${encoded}`
    case 'node':
      return `/flows/${encodeURIComponent(flow ?? '')}?node=${encodeURIComponent(name.slice(name.indexOf('.') + 1))}`
    case 'message':
      return `/messages?message=${encoded}`
    case 'run':
      return `/runs/${encoded}`
    case 'artifact':
      return '/artifacts'
    case 'user':
      return '/settings/users'
    case 'secret':
      return '/settings/secrets'
    default:
      return '/dashboards'
  }
}

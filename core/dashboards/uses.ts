import { NOTHING, type TileUses } from '../../protocol/dashboards/tile-type.ts'
import { tileTypeOf } from '../../protocol/dashboards/tiles/index.ts'
import type { DashboardDocument, Tile } from '../../protocol/nouns/dashboard.ts'

/** What a checked tile touches; nothing where a release that is gone knew its type. */
export const usesOf = (tile: Tile): TileUses => tileTypeOf(tile.type)?.uses(tile.settings as never) ?? NOTHING

/** The message that drives the lock; null when none does. */
export const lockMessage = ({ locked }: DashboardDocument): string | null =>
  typeof locked === 'boolean' ? null : locked.message

/** Every message and flow that a document names, with its place. */
export function* namedIn(
  document: DashboardDocument,
): Iterable<{ loc: string; name: string; kind: 'message' | 'flow' }> {
  const lock = lockMessage(document)
  if (lock !== null) yield { loc: 'locked.message', name: lock, kind: 'message' }
  for (const [at, { settings }] of document.tiles.entries()) {
    const root = `tiles[${at}].settings`
    const { message, publish, messages, flow } = settings as References
    if (typeof message === 'string') yield { loc: `${root}.message`, name: message, kind: 'message' }
    for (const [place, name] of (messages ?? []).entries())
      yield { loc: `${root}.messages[${place}]`, name, kind: 'message' }
    if (typeof publish === 'string') yield { loc: `${root}.publish`, name: publish, kind: 'message' }
    if (typeof flow === 'string') yield { loc: `${root}.flow`, name: flow, kind: 'flow' }
  }
}

/** The settings by which tiles name messages and flows. */
interface References {
  readonly message?: string
  readonly messages?: readonly string[]
  readonly publish?: string
  readonly flow?: string | null
  readonly metrics?: readonly string[]
}

/** The document after flow `from` became `to`; null when it names nothing of it. */
export function renamedIn(document: DashboardDocument, from: string, to: string): DashboardDocument | null {
  const prefix = `${from}.`
  let isChanged = false
  const moved = (name: string): string => {
    if (!name.startsWith(prefix)) return name
    isChanged = true
    return `${to}.${name.slice(prefix.length)}`
  }
  const tiles = document.tiles.map(tile => {
    const { message, messages, publish, flow, metrics } = tile.settings as References
    if (flow === from) isChanged = true
    return {
      ...tile,
      settings: {
        ...tile.settings,
        ...(message === undefined ? {} : { message: moved(message) }),
        ...(messages === undefined ? {} : { messages: messages.map(moved) }),
        ...(publish === undefined ? {} : { publish: moved(publish) }),
        ...(flow === from ? { flow: to } : {}),
        ...(metrics === undefined ? {} : { metrics: metrics.map(moved) }),
      },
    }
  })
  const lock = lockMessage(document)
  const locked = lock === null ? document.locked : { message: moved(lock) }
  return isChanged ? { locked, tiles } : null
}

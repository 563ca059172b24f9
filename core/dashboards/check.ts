import type { AnyTileType } from '../../protocol/dashboards/tile-type.ts'
import { TILE_TYPES, tileTypeOf } from '../../protocol/dashboards/tiles/index.ts'
import { type ErrorCode, type ErrorPlace, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { nearest } from '../../protocol/nearest.ts'
import {
  type DashboardDocument,
  DashboardOutline,
  GRID_COLUMNS,
  type GridWidth,
  Tile,
} from '../../protocol/nouns/dashboard.ts'
import { type Checker, createChecker } from '../../protocol/values/explain.ts'
import type { Steps } from '../steps.ts'

const outline = createChecker(DashboardOutline)
const tileShape = createChecker(Tile)
const settingsOf = new Map<AnyTileType, Checker>()

function settingsChecker(type: AnyTileType): Checker {
  let checker = settingsOf.get(type)
  if (checker === undefined) settingsOf.set(type, (checker = createChecker(type.settings)))
  return checker
}

/** A document as a user gave it; throws `validation`, `unknown_tile_type`, `bad_settings` or `too_large` with the places. A tile a step. */
export function* checkDashboardSteps(given: unknown): Steps<DashboardDocument> {
  refuseAll('validation', outline.refusals(given))
  const document = given as DashboardDocument
  const places: ErrorPlace[] = []
  let code: ErrorCode = 'validation'
  const ids = new Set<string>()
  for (const [at, tile] of document.tiles.entries()) {
    if (places.length >= limits.ERROR_PLACES) break
    const refusals = tileShape.refusals(tile, `tiles[${at}]`)
    places.push(...refusals)
    yield
    if (refusals.length > 0) continue
    if (ids.has(tile.id)) places.push({ loc: `tiles[${at}].id`, msg: `"${tile.id}" is the id of another tile` })
    ids.add(tile.id)
    places.push(...offGrid(tile, at))
    const type = tileTypeOf(tile.type)
    if (type === undefined) {
      if (places.length === 0) code = 'unknown_tile_type'
      places.push({ loc: `tiles[${at}].type`, msg: unknownType(tile.type) })
      continue
    }
    const root = `tiles[${at}].settings`
    const bad = [...settingsChecker(type).refusals(tile.settings, root)]
    yield
    if (bad.length === 0) type.check?.(tile.settings as never, (loc, msg) => bad.push({ loc: `${root}.${loc}`, msg }))
    if (places.length === 0 && bad.length > 0) code = 'bad_tile'
    places.push(...bad)
  }
  refuseAll(code, places.slice(0, limits.ERROR_PLACES))
  return document
}

function refuseAll(code: ErrorCode, errors: readonly ErrorPlace[]): void {
  const [first] = errors
  if (first === undefined) return
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more places)`
  throw new ServiceError(code, `${first.loc}: ${first.msg}${more}.`, { errors })
}

function offGrid({ position }: Tile, at: number): ErrorPlace[] {
  const places: ErrorPlace[] = []
  for (const name of Object.keys(GRID_COLUMNS) as GridWidth[]) {
    const place = position?.[name]
    const columns = GRID_COLUMNS[name]
    if (place !== undefined && place.x + place.width > columns)
      places.push({
        loc: `tiles[${at}].position.${name}.width`,
        msg: `from column ${place.x} at most ${columns - place.x} fit in ${columns}, not ${place.width}`,
      })
  }
  return places
}

function unknownType(name: string): string {
  const names = TILE_TYPES.map(type => type.name)
  const meant = nearest(name, names)
  return `there is no tile type "${name}"${meant === null ? '' : `; did you mean "${meant}"?`}`
}

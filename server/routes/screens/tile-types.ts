import Type from 'typebox'
import type { AnyTileType } from '../../../protocol/dashboards/tile-type.ts'
import { TILE_TYPES } from '../../../protocol/dashboards/tiles/index.ts'
import { TileTypeInfo } from '../../../protocol/nouns/dashboard.ts'
import { type Route, route } from '../../http/route.ts'
import { pageOf } from '../../list-page.ts'
import { closed, listOf, okPage, pageQuery } from '../queries.ts'

export function tileTypeRoutes(): Route[] {
  return [
    route({
      method: 'GET',
      path: '/tile-types',
      scope: 'read',
      tag: 'dashboards',
      summary: 'Lists the types of tiles with their settings as JSON Schema.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(TileTypeInfo) },
      handle: ({ query: { limit, offset } }) => {
        const shown = Iterator.from(TILE_TYPES).drop(offset).take(limit).map(infoOf)
        return okPage(pageOf(shown, TILE_TYPES.length, offset), offset)
      },
    }),
  ]
}

const infoOf = ({ name, title, description, on_panels, settings }: AnyTileType): TileTypeInfo => ({
  name,
  title,
  description,
  on_panels,
  settings: settings as unknown as TileTypeInfo['settings'],
})

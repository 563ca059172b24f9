import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { confirm, controlling, publish, settingsOf, shown } from '../settings.ts'
import type { TileType } from '../tile-type.ts'

const settings = settingsOf({
  publish,
  message: shown,
  characters: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.TILE_TEXT_CHARACTERS,
      default: 200,
      title: 'Characters',
      description: 'How many may be typed.',
    }),
  ),
  confirm,
})

export const textFieldTile: TileType<Static<typeof settings>> = {
  name: 'text-field',
  title: 'Text field',
  description: 'Shows a text, and publishes the one that is typed.',
  settings,
  on_panels: true,
  uses: controlling,
}

import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { settingsOf } from '../settings.ts'
import { NOTHING, type TileType } from '../tile-type.ts'

const settings = settingsOf({
  text: Type.String({
    maxLength: limits.TILE_TEXT_CHARACTERS,
    title: 'Text',
    description: 'Markdown. It is stored as it is; whoever draws it takes out HTML and scripts.',
  }),
})

export const textTile: TileType<Static<typeof settings>> = {
  name: 'text',
  title: 'Text',
  description: 'Shows a text in Markdown.',
  settings,
  on_panels: true,
  uses: () => NOTHING,
}

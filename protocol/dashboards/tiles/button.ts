import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { confirm, publish, settingsOf } from '../settings.ts'
import { NOTHING, type TileType } from '../tile-type.ts'

const settings = settingsOf({
  publish,
  value: Type.Optional(
    Type.Unknown({ default: true, title: 'Value', description: 'What is published when it is pressed.' }),
  ),
  label: Type.Optional(
    Type.String({
      maxLength: limits.TILE_WORD_CHARACTERS,
      default: '',
      title: 'Label',
      description: 'On the button. The title when empty.',
    }),
  ),
  confirm,
})

export const buttonTile: TileType<Static<typeof settings>> = {
  name: 'button',
  title: 'Button',
  description: 'Publishes a value when it is pressed.',
  settings,
  on_panels: true,
  uses: ({ publish }) => ({ ...NOTHING, publishes: [publish] }),
}

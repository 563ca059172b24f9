import Type, { type Static } from 'typebox'
import { confirm, controlling, publish, settingsOf, shown } from '../settings.ts'
import type { TileType } from '../tile-type.ts'

const settings = settingsOf({
  publish,
  message: shown,
  on: Type.Optional(Type.Unknown({ default: true, title: 'On', description: 'What is published to switch it on.' })),
  off: Type.Optional(
    Type.Unknown({ default: false, title: 'Off', description: 'What is published to switch it off.' }),
  ),
  confirm,
})

export const switchTile: TileType<Static<typeof settings>> = {
  name: 'switch',
  title: 'Switch',
  description: 'Shows whether something is on, and switches it.',
  settings,
  on_panels: true,
  uses: controlling,
}

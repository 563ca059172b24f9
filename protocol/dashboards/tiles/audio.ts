import Type, { type Static } from 'typebox'
import { message, settingsOf } from '../settings.ts'
import type { TileType } from '../tile-type.ts'

const settings = settingsOf({
  message,
  volume: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100, default: 100, unit: '%', title: 'Volume', description: 'At the start.' }),
  ),
})

export const audioTile: TileType<Static<typeof settings>> = {
  name: 'audio',
  title: 'Audio',
  description: 'Plays the sound of a microphone, or a recording.',
  settings,
  on_panels: true,
  uses: ({ message }) => ({ reads: [message], publishes: [], asks: [], media: [message] }),
}

import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { message, optional, settingsOf } from '../settings.ts'
import type { TileType } from '../tile-type.ts'

const settings = settingsOf({
  message,
  fit: Type.Optional(
    Type.Union([Type.Literal('contain'), Type.Literal('cover')], {
      default: 'contain',
      title: 'Fit',
      description: 'The whole picture, or as much of it as fills the tile.',
    }),
  ),
  snapshot_s: optional(Type.Number({ minimum: 0.1, maximum: limits.TILE_SPAN_S }), {
    unit: 's',
    title: 'Snapshot',
    description: 'A new picture so often; each frame of a camera as it comes when null.',
  }),
})

export const imageTile: TileType<Static<typeof settings>> = {
  name: 'image',
  title: 'Image',
  description: 'Shows the frames of a camera, or a picture.',
  settings,
  on_panels: true,
  uses: ({ message }) => ({ reads: [message], publishes: [], asks: [], media: [message] }),
}

import type { Static } from 'typebox'
import Type from 'typebox'
import { limits } from '../../limits.ts'
import { checkBounds, decimals, message, optional, settingsOf, unit, wellLimits } from '../settings.ts'
import { drawing, type TileType } from '../tile-type.ts'

const settings = settingsOf({
  message,
  unit,
  decimals,
  ...wellLimits,
  curve_s: optional(Type.Number({ minimum: 1, maximum: limits.TILE_SPAN_S }), {
    unit: 's',
    title: 'Curve',
    description: 'A small curve of so long below the number; none when null.',
  }),
})

export const valueTile: TileType<Static<typeof settings>> = {
  name: 'value',
  title: 'Value',
  description: 'Shows the latest value of a message, large, with its age.',
  settings,
  on_panels: true,
  uses: ({ message }) => drawing(message),
  check: (given, refuse) => checkBounds(given, refuse),
}

import type { Static } from 'typebox'
import { checkBounds, decimals, message, scale, settingsOf, unit, wellLimits } from '../settings.ts'
import { drawing, type TileType } from '../tile-type.ts'

const settings = settingsOf({ message, ...scale, ...wellLimits, unit, decimals })

export const gaugeTile: TileType<Static<typeof settings>> = {
  name: 'gauge',
  title: 'Gauge',
  description: 'Shows a number on a scale, with its limits.',
  settings,
  on_panels: true,
  uses: ({ message }) => drawing(message),
  check: (given, refuse) => checkBounds(given, refuse, { min: 0, max: 100 }),
}

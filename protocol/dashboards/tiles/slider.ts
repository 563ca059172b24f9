import Type, { type Static } from 'typebox'
import { checkBounds, controlling, decimals, publish, scale, settingsOf, shown, unit } from '../settings.ts'
import type { TileType } from '../tile-type.ts'

const settings = settingsOf({
  publish,
  message: shown,
  ...scale,
  step: Type.Optional(
    Type.Number({ exclusiveMinimum: 0, maximum: 1e15, default: 1, title: 'Step', description: 'Between two places.' }),
  ),
  unit,
  decimals,
})

export const sliderTile: TileType<Static<typeof settings>> = {
  name: 'slider',
  title: 'Slider',
  description: 'Shows a number on a scale, and publishes another one when it is moved.',
  settings,
  on_panels: true,
  uses: controlling,
  check: (given, refuse) => checkBounds(given, refuse, { min: 0, max: 100 }),
}

import Type, { type Static } from 'typebox'
import {
  bound,
  checkBounds,
  confirm,
  controlling,
  decimals,
  optional,
  publish,
  settingsOf,
  shown,
  unit,
} from '../settings.ts'
import type { TileType } from '../tile-type.ts'

const settings = settingsOf({
  publish,
  message: shown,
  min: optional(bound, {
    title: 'Least',
    description: 'Nothing below it is published. No bound when null.',
  }),
  max: optional(bound, {
    title: 'Most',
    description: 'Nothing above it is published. No bound when null.',
  }),
  step: optional(Type.Number({ exclusiveMinimum: 0, maximum: 1e15 }), {
    title: 'Step',
    description: 'What the arrows add and take away; any number may be typed.',
  }),
  unit,
  decimals,
  confirm,
})

export const numberTile: TileType<Static<typeof settings>> = {
  name: 'number',
  title: 'Number',
  description: 'Shows a number, and publishes the one that is typed.',
  settings,
  on_panels: true,
  uses: controlling,
  check: (given, refuse) => checkBounds(given, refuse),
}

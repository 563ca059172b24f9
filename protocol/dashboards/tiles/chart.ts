import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { MessageName } from '../../nouns/message.ts'
import { axis, checkBounds, decimals, settingsOf, span, unit, wellLimits } from '../settings.ts'
import { drawing, type TileType } from '../tile-type.ts'

const settings = settingsOf({
  messages: Type.Array(MessageName, {
    minItems: 1,
    maxItems: limits.CHART_MESSAGES,
    title: 'Messages',
    description: 'A curve each. A bool is drawn as steps, with the axis fixed to 0..1.',
  }),
  span_s: span,
  ...axis,
  ...wellLimits,
  band: Type.Optional(
    Type.Boolean({
      default: true,
      title: 'Band',
      description:
        'Where a point stands for several values, the span from the least to the greatest is drawn around it.',
    }),
  ),
  unit,
  decimals,
})

export const chartTile: TileType<Static<typeof settings>> = {
  name: 'chart',
  title: 'Chart',
  description: 'Draws curves of messages over time: their history, and on with each new value.',
  settings,
  on_panels: true,
  uses: ({ messages }) => drawing(...messages),
  check: (given, refuse) => checkBounds(given, refuse),
}

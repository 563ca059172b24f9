import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { axis, checkBounds, decimals, messageName, optional, settingsOf, span, unit, wellLimits } from '../settings.ts'
import type { TileType } from '../tile-type.ts'

const settings = settingsOf({
  publish: messageName('Asks', 'The message that the request is published to.'),
  message: messageName(
    'Message',
    'The answer: a list of numbers, of [time, number] pairs, or an object of such lists, a curve each.',
  ),
  request: Type.Optional(
    Type.Record(Type.String({ maxLength: limits.TILE_WORD_CHARACTERS }), Type.Unknown(), {
      default: {},
      title: 'Request',
      description: 'Is published with since and until added, which say what span is drawn.',
    }),
  ),
  span_s: span,
  every_s: optional(Type.Number({ minimum: limits.QUERY_EVERY_S_MIN, maximum: limits.TILE_SPAN_S }), {
    unit: 's',
    title: 'Every',
    description: 'How often it asks again; only when somebody looks at another span when null.',
  }),
  ...axis,
  ...wellLimits,
  unit,
  decimals,
})

export const queryChartTile: TileType<Static<typeof settings>> = {
  name: 'query-chart',
  title: 'Querying chart',
  description: 'Publishes a request for a span of time, and draws what a flow answers.',
  settings,
  on_panels: true,
  uses: ({ publish, message }) => ({ reads: [message], publishes: [], asks: [publish], media: [] }),
  check: (given, refuse) => checkBounds(given, refuse),
}

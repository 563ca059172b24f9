import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { axis, checkBounds, flowName, settingsOf } from '../settings.ts'
import { NOTHING, type TileType } from '../tile-type.ts'

const settings = settingsOf({
  flow: flowName('Flow', 'Whose runs are drawn.'),
  metrics: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: limits.RUN_FIELD_CHARACTERS }), {
      maxItems: limits.CHART_MESSAGES,
      default: [],
      title: 'Metrics',
      description: 'Names of metrics: <flow>.<node>.<metric>. All of them when empty.',
    }),
  ),
  runs: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.RUN_CURVES_RUNS,
      default: 5,
      title: 'Runs',
      description: 'The newest, so many.',
    }),
  ),
  ...axis,
})

export const runCurvesTile: TileType<Static<typeof settings>> = {
  name: 'run-curves',
  title: 'Run curves',
  description: 'Draws metrics of the newest runs of a flow, over each other.',
  settings,
  on_panels: false,
  uses: () => NOTHING,
  check: (given, refuse) => checkBounds(given, refuse),
}

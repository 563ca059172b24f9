import Type, { type Static } from 'typebox'
import { NAME_PATTERN } from '../../names.ts'
import { confirm, flowName, settingsOf } from '../settings.ts'
import { NOTHING, type TileType } from '../tile-type.ts'

const settings = settingsOf({
  flow: flowName('Flow', 'What is run.'),
  inputs: Type.Optional(
    Type.Record(Type.String({ pattern: NAME_PATTERN }), Type.Unknown(), {
      default: {},
      title: 'Inputs',
      description: 'Of each run. The form asks for the others.',
    }),
  ),
  confirm,
})

export const runStarterTile: TileType<Static<typeof settings>> = {
  name: 'run-starter',
  title: 'Run starter',
  description: 'Starts a batch run of a flow, and shows the last one.',
  settings,
  on_panels: false,
  uses: () => NOTHING,
}

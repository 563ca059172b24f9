import type { Static } from 'typebox'
import { FlowName } from '../../nouns/flow.ts'
import { optional, settingsOf } from '../settings.ts'
import { NOTHING, type TileType } from '../tile-type.ts'

const settings = settingsOf({
  flow: optional(FlowName, { title: 'Flow', description: 'Whose issues are listed; those of all flows when null.' }),
})

export const issuesTile: TileType<Static<typeof settings>> = {
  name: 'issues',
  title: 'Issues',
  description: 'Lists the issues of a flow, or of all flows.',
  settings,
  on_panels: false,
  uses: () => NOTHING,
}

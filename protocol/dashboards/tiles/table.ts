import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { MessageName } from '../../nouns/message.ts'
import { decimals, settingsOf } from '../settings.ts'
import { drawing, type TileType } from '../tile-type.ts'

const settings = settingsOf({
  messages: Type.Array(MessageName, {
    minItems: 1,
    maxItems: limits.TABLE_MESSAGES,
    title: 'Messages',
    description: 'A row each with its value and age; a list of objects as the value of one is a row for each of them.',
  }),
  columns: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: limits.TILE_WORD_CHARACTERS }), {
      maxItems: limits.TABLE_COLUMNS,
      default: [],
      title: 'Columns',
      description: 'Members of the objects, in this order; all of the first one when there are none here.',
    }),
  ),
  decimals,
})

export const tableTile: TileType<Static<typeof settings>> = {
  name: 'table',
  title: 'Table',
  description: 'Shows messages in rows, or the objects that a message carries.',
  settings,
  on_panels: true,
  uses: ({ messages }) => drawing(...messages),
}

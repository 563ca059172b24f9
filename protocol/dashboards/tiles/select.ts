import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { closed, confirm, controlling, publish, settingsOf, shown } from '../settings.ts'
import type { TileType } from '../tile-type.ts'

const settings = settingsOf({
  publish,
  message: shown,
  options: Type.Array(
    Type.Object(
      { title: Type.String({ minLength: 1, maxLength: limits.TILE_WORD_CHARACTERS }), value: Type.Unknown() },
      closed,
    ),
    {
      minItems: 1,
      maxItems: limits.SELECT_OPTIONS,
      title: 'Options',
      description: 'What may be chosen: a title, and the value that is published for it.',
    },
  ),
  confirm,
})

export const selectTile: TileType<Static<typeof settings>> = {
  name: 'select',
  title: 'Select',
  description: 'Shows which of several values a message has, and publishes another one.',
  settings,
  on_panels: true,
  uses: controlling,
  check({ options }, refuse) {
    const titles = new Set<string>()
    for (const [at, { title }] of options.entries()) {
      if (titles.has(title)) refuse(`options[${at}].title`, `"${title}" is the title of another option`)
      titles.add(title)
    }
  },
}

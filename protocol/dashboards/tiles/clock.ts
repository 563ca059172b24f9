import Type, { type Static } from 'typebox'
import { limits } from '../../limits.ts'
import { optional, settingsOf } from '../settings.ts'
import { NOTHING, type TileType } from '../tile-type.ts'

const settings = settingsOf({
  timezone: optional(Type.String({ minLength: 1, maxLength: limits.TILE_WORD_CHARACTERS }), {
    title: 'Timezone',
    description: 'An IANA name such as Europe/Berlin; that of the screen when null.',
  }),
  seconds: Type.Optional(Type.Boolean({ default: true, title: 'Seconds', description: 'Shows the seconds, too.' })),
  date: Type.Optional(Type.Boolean({ default: false, title: 'Date', description: 'Shows the date, too.' })),
})

export const clockTile: TileType<Static<typeof settings>> = {
  name: 'clock',
  title: 'Clock',
  description: 'Shows the time.',
  settings,
  on_panels: true,
  uses: () => NOTHING,
  check({ timezone }, refuse) {
    if (timezone !== undefined && timezone !== null && !isTimezone(timezone))
      refuse('timezone', `"${timezone}" is not a timezone; expected an IANA name such as Europe/Berlin`)
  },
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

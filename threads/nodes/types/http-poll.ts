import Type, { type Static } from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { cronFault } from '../cron.ts'
import type { NodeTypeDefinition } from '../node-type.ts'
import { checkWeb, originOf, webAddress, webHeaders, webTimeout } from '../web-settings.ts'

export const HttpPollSettings = Type.Object(
  {
    url: webAddress('What is asked, `http` or `https`.'),
    headers: webHeaders,
    every_s: Type.Optional(
      Type.Union([Type.Number({ minimum: limits.POLL_EVERY_S_MIN, maximum: limits.INJECT_EVERY_S_MAX }), Type.Null()], {
        default: null,
        unit: 's',
        title: 'Every',
        description: 'Time between two polls.',
      }),
    ),
    cron: Type.Optional(
      Type.Union([Type.String({ maxLength: limits.CRON_CHARACTERS }), Type.Null()], {
        default: null,
        title: 'Cron',
        description: 'Five fields, or six with seconds first, in TZ; in place of `every_s`.',
      }),
    ),
    pointer: Type.Optional(
      Type.String({
        default: '',
        maxLength: limits.POINTER_CHARACTERS,
        pattern: '^(/.*)?$',
        title: 'Pointer',
        description: 'JSON Pointer (RFC 6901) to what is published; all of the body when empty.',
      }),
    ),
    timeout_s: webTimeout('A poll that has not been answered by then fails.'),
  },
  { additionalProperties: false },
)
export type HttpPollSettings = Static<typeof HttpPollSettings>

/** Asks an address again and again, and publishes what has changed. */
export const httpPollType: NodeTypeDefinition<HttpPollSettings> = {
  name: 'http-poll',
  title: 'HTTP poll',
  summary: 'Asks an address at an interval or by a cron expression, and publishes the answer when it has changed.',
  settings: HttpPollSettings,
  inputs: { kind: 'none' },
  outputs: {
    kind: 'known',
    ports: [
      { name: 'body', dtypes: ['json', 'str', 'float', 'int', 'bool'], description: 'The answer.', required: true },
    ],
  },
  place: 'connectors',
  side_effects: true,
  targetKey: ({ url }) => originOf(url),
  check(of, { timezone }) {
    checkWeb(of)
    const { settings, refuse } = of
    const { every_s = null, cron = null } = settings
    if ((every_s === null) === (cron === null)) refuse('bad_settings', 'settings', 'set one of every_s and cron')
    const fault = cron === null ? null : cronFault(cron, timezone)
    if (fault !== null) refuse('bad_cron', 'settings.cron', fault)
  },
}

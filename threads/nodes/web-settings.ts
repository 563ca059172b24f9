import Type from 'typebox'
import { limits } from '../../protocol/limits.ts'
import { place } from '../../protocol/values/describe.ts'
import type { SettingsOf } from './node-type.ts'
import { secretText } from './secrets.ts'

/** Settings that all types have that send requests. */
export const webAddress = (description: string) =>
  secretText({ title: 'Address', description }, { pattern: '^https?://', maxLength: limits.URL_CHARACTERS })

export const webHeaders = Type.Optional(
  Type.Record(Type.String({ pattern: '^[A-Za-z0-9-]{1,128}$' }), secretText({ description: 'One header.' }), {
    default: {},
    title: 'Headers',
    description: 'Header fields that each request carries.',
  }),
)

export const webTimeout = (description: string) =>
  Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: limits.CONNECTOR_TIMEOUT_S_MAX,
      default: 30,
      unit: 's',
      title: 'Timeout',
      description,
    }),
  )

/** Without credentials and path. Null: the address is a secret. */
export const originOf = (url: unknown): string | null =>
  typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : null

/** Those by which a request says where it ends and where it goes: they are the client's. */
const OWN = /^(host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*)$/i

export function checkWeb({
  settings: { url, headers = {} },
  refuse,
}: Pick<SettingsOf<{ url: unknown; headers?: object }>, 'settings' | 'refuse'>): void {
  if (typeof url === 'string' && originOf(url) === null) refuse('bad_settings', 'settings.url', 'is not an address')
  for (const [name, value] of Object.entries(headers)) {
    const loc = place('settings.headers', name)
    if (OWN.test(name)) refuse('bad_settings', loc, `the header ${name} is set by the client itself`)
    if (typeof value === 'string' && /[^\t\x20-\x7e\x80-\xff]/.test(value))
      refuse('bad_settings', loc, 'holds characters that a header cannot carry')
  }
}

import type { Look } from './renderer.ts'

/** What a terminal takes, as far as its environment says. */
export function lookOf(environment: Readonly<Record<string, string | undefined>>): Look {
  const locale = environment['LC_ALL'] || environment['LC_CTYPE'] || environment['LANG'] || ''
  return { hasColour: !environment['NO_COLOR'], hasUtf8: /utf-?8/i.test(locale) }
}

/**
 * The grammar of names: flows, nodes, ports and messages are `[A-Za-z_][A-Za-z0-9_-]{0,63}`. A message of flow `f` is
 * written `m` inside `f` and `f.m` outside it; a node likewise.
 */
export const NAME_PATTERN = '^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]{0,63}$'
export const QUALIFIED_PATTERN = '^[A-Za-z_][A-Za-z0-9_-]{0,63}\\.[A-Za-z_][A-Za-z0-9_-]{0,63}$'
/** One mail address, and nothing that begins another one in the header of a mail. */
export const MAIL_PATTERN = "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,188}[A-Za-z0-9])?$"
/** A message as an input port may write it: its own flow's (`m`) or another flow's (`f.m`). */
export const MESSAGE_REFERENCE_PATTERN = '^[A-Za-z_][A-Za-z0-9_-]{0,63}(\\.[A-Za-z_][A-Za-z0-9_-]{0,63})?$'

/** A variable of a process's environment, as every shell can set it. */
export const VARIABLE_PATTERN = '^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,127}$'

const VARIABLE = new RegExp(VARIABLE_PATTERN)
const NAME = new RegExp(NAME_PATTERN)
const QUALIFIED = new RegExp(QUALIFIED_PATTERN)

export const isName = (text: string): boolean => NAME.test(text)
export const isVariable = (text: string): boolean => VARIABLE.test(text)
export const isQualified = (text: string): boolean => QUALIFIED.test(text)

/** `qualify('boiler', 'raw')` is `boiler.raw`; `qualify('boiler', 'other.raw')` stays `other.raw`. */
export const qualify = (flow: string, reference: string): string =>
  reference.includes('.') ? reference : `${flow}.${reference}`

/** `boiler.raw` -> `{flow: 'boiler', name: 'raw'}`; null when the text is no qualified name. */
export function splitQualified(text: string): { flow: string; name: string } | null {
  if (!isQualified(text)) return null
  const dot = text.indexOf('.')
  return { flow: text.slice(0, dot), name: text.slice(dot + 1) }
}

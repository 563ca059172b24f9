import { stripTypeScriptTypes } from 'node:module'

/** Types replaced by spaces, so that lines and columns stay; or why not. */
export type Stripped = { code: string } | { line: number; column: number; text: string }
export type Strip = (source: string) => Stripped

/**
 * Strips in this thread. A hostile source (some hundred functions inside each other) breaks Node's stripper for the rest
 * of the thread's life, so a thread that must live on uses `SourceThread`.
 */
export function stripHere(source: string): Stripped {
  try {
    return { code: quietly(() => stripTypeScriptTypes(source)) }
  } catch (error) {
    if (isBroken(error)) throw error
    const { message, stack = '' } = error as Error
    return { ...locate(source, stack, message), text: sentence(message) }
  }
}

/** Did the stripper itself break, rather than find fault with the source? */
export function isBroken(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code !== 'ERR_INVALID_TYPESCRIPT_SYNTAX' && code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'
}

/** Node warns at the first call that the function is experimental; that one warning is held back, others pass. */
function quietly<Result>(call: () => Result): Result {
  const emitWarning = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith('stripTypeScriptTypes is')) Reflect.apply(emitWarning, process, [warning, ...rest])
  }) as typeof process.emitWarning
  try {
    return call()
  } finally {
    process.emitWarning = emitWarning
  }
}

const sentence = (message: string): string =>
  message.endsWith(' is not supported in strip-only mode')
    ? `${message.replace(/ in strip-only mode$/, '')}; types are only removed, so write JavaScript for it`
    : message.replace(/\.$/, '')

/**
 * The place that Node's error names. It stands only in the first lines of the stack:
 *
 *   :13                          the line
 *   const a = 1                  the line before, the line itself
 *   enum A { x }
 *   ^^^^^^^^^^^^                 under the fault, in columns of a terminal: a tab is 4 wide, an ideograph 2
 *
 * A fault over several lines has `  > ` before its first and last line instead of carets; a fault at the end of a line has nothing.
 */
function locate(source: string, stack: string, message: string): { line: number; column: number } {
  const shown = stack.split('\n')
  const line = Number(/^[^\n]*?:(\d+)$/.exec(shown[0] ?? '')?.[1] ?? 1)
  const text = source.split(/\r\n|\n|\r/)[line - 1] ?? ''
  const expanded = text.replaceAll('\t', '    ')
  for (let at = 1; at < shown.length; at++) {
    if (shown[at] === `  > ${expanded}`) return { line, column: columnOfKeyword(text, message) }
    if (shown[at] !== expanded) continue
    const carets = /^( *)\^+$/.exec(shown[at + 1] ?? '')
    if (carets) return { line, column: columnAtWidth(text, carets[1]!.length) }
  }
  return { line, column: text.length + 1 }
}

/** UTF-16 column, from 1, of what a terminal shows `width` columns from the left. */
function columnAtWidth(text: string, width: number): number {
  let column = 1
  let passed = 0
  for (const character of text) {
    if (passed >= width) break
    passed += terminalWidth(character)
    column += character.length
  }
  return column
}

function terminalWidth(character: string): number {
  if (character === '\t') return 4
  if (/\p{Mark}|\p{Cf}/u.test(character)) return 0
  return /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u.test(
    character,
  )
    ? 2
    : 1
}

/** Where `enum`, `namespace` or `module` stands outside of quotes and comments; else the first character. */
function columnOfKeyword(text: string, message: string): number {
  const bare = text.replace(/'[^']*'|"[^"]*"|`[^`]*`|\/\*.*?\*\//g, quoted => ' '.repeat(quoted.length))
  const keyword = /\b(enum|namespace|module)\b/.exec(message)?.[1]
  const found = keyword === undefined ? -1 : bare.search(new RegExp(`\\b${keyword}\\b`))
  return (found === -1 ? Math.max(text.search(/\S/), 0) : found) + 1
}

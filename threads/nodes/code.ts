import { createHash } from 'node:crypto'
import { type Program, parse } from 'acorn'
import type { Body, NodeType } from '../../core/flow/check.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { type Strip, stripHere } from './strip.ts'

/** A source's body, or why it has none, with the place in the source. */
export type CheckedSource =
  | Body
  | { readonly code: 'syntax_error' | 'no_default_export'; readonly loc: string; readonly msg: string }
export type CheckSource = (language: 'ts' | 'js', source: string) => CheckedSource

/** Only such a source is looked into. */
export const isChecked = (language: string, source: string): language is 'ts' | 'js' =>
  language !== 'python' && Buffer.byteLength(source) <= limits.SOURCE_BYTES

/**
 * The node type `code`: a body in TypeScript or JavaScript.
 *
 *   source -> types stripped, positions kept -> parsed as a module -> its default export is a body
 */
export function codeType(check: CheckSource = checkedSource): NodeType {
  return {
    check(node, refuse) {
      const { language, source } = node
      if (language === 'python') {
        refuse('language_unavailable', 'language', 'this engine cannot run Python bodies')
        return null
      }
      if (source === null) {
        refuse('validation', 'source', 'a code node needs a source: "export default (inputs, ctx) => ({ ... })"')
        return null
      }
      if (!isChecked(language, source)) {
        const bytes = Buffer.byteLength(source)
        refuse('validation', 'source', `the source takes ${bytes} bytes; at most ${limits.SOURCE_BYTES} are allowed`)
        return null
      }
      const checked = check(language, source)
      if (!('loc' in checked)) return checked
      refuse(checked.code, checked.loc, checked.msg)
      return null
    },
  }
}

/** As `checkSource`, with its refusal as a value: another thread can answer with it. */
export function checkedSource(language: 'ts' | 'js', source: string, strip?: Strip): CheckedSource {
  try {
    return checkSource(language, source, strip)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const [{ loc, msg }] = error.errors as [{ loc: string; msg: string }]
    return { code: error.code as 'syntax_error' | 'no_default_export', loc, msg }
  }
}

/**
 * The body as it runs, and its digest. Throws a `ServiceError` (`syntax_error`, `no_default_export`) whose one place is
 * `source:LINE:COLUMN`, both counted from 1 in the source as it was written.
 */
export function checkSource(language: 'ts' | 'js', source: string, strip: Strip = stripHere): Body {
  const code = language === 'ts' ? stripped(source, strip) : source
  const program = parsed(code)
  requireBody(program)
  return { code, digest: createHash('sha256').update(code).digest('hex') }
}

function stripped(source: string, strip: Strip): string {
  const result = strip(source)
  if ('code' in result) return result.code
  throw refused('syntax_error', result.line, result.column, result.text)
}

function parsed(code: string): Program {
  try {
    // The newest syntax that Node 22 runs; anything later would pass here and fail when the body is loaded.
    return parse(code, { ecmaVersion: 2025, sourceType: 'module', locations: true })
  } catch (error) {
    if (error instanceof RangeError) throw refused('syntax_error', 1, 1, 'nested too deeply to be read')
    const { loc, message } = error as { loc?: { line: number; column: number }; message: string }
    if (!loc) throw error
    throw refused('syntax_error', loc.line, loc.column + 1, message.replace(/ \(\d+:\d+\)$/, ''))
  }
}

/** The kind of a default export that is clearly not a function. */
const NO_BODY: Readonly<Record<string, string>> = {
  Literal: 'a constant',
  TemplateLiteral: 'a text',
  ObjectExpression: 'an object',
  ArrayExpression: 'a list',
  ClassDeclaration: 'a class',
  ClassExpression: 'a class',
}

function requireBody(program: Program): void {
  for (const statement of program.body) {
    if (statement.type === 'ExportDefaultDeclaration') {
      const { type, loc } = statement.declaration
      const found = NO_BODY[type]
      if (found === undefined) return
      const start = loc?.start ?? { line: 1, column: 0 }
      throw refused('no_default_export', start.line, start.column + 1, `the default export is ${found}, not a function`)
    }
    if (statement.type !== 'ExportNamedDeclaration') continue
    for (const { exported } of statement.specifiers)
      if ((exported.type === 'Literal' ? exported.value : exported.name) === 'default') return
  }
  throw refused(
    'no_default_export',
    1,
    1,
    'nothing is exported as default; write "export default (inputs, ctx) => ({ ... })"',
  )
}

function refused(code: 'syntax_error' | 'no_default_export', line: number, column: number, text: string): ServiceError {
  const { loc, msg } = refusedSource(code, line, column, text)
  return new ServiceError(code, `Line ${line}, column ${column}: ${text}.`, { errors: [{ loc, msg }] })
}

export const refusedSource = (
  code: 'syntax_error' | 'no_default_export',
  line: number,
  column: number,
  text: string,
): Extract<CheckedSource, { loc: string }> => ({
  code,
  loc: `source:${line}:${column}`,
  msg: `line ${line}, column ${column}: ${text}`,
})

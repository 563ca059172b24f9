import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { checkSource } from '../../../threads/nodes/code.ts'
import { checked, code } from '../../kit/flow-documents.ts'

/** `syntax_error 2:11 Expression expected` */
function refusal(source: string, language: 'ts' | 'js' = 'ts'): string {
  try {
    checkSource(language, source)
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error))
    const [place, ...others] = error.errors
    assert.deepEqual(others, [])
    assert.match(place!.loc, /^source:\d+:\d+$/)
    const at = place!.loc.slice('source:'.length)
    const [line, column] = at.split(':')
    const prefix = `line ${line}, column ${column}: `
    assert.ok(place!.msg.startsWith(prefix))
    return `${error.code} ${at} ${place!.msg.slice(prefix.length)}`
  }
  throw new assert.AssertionError({ message: 'the source was accepted' })
}

describe('a body that is accepted', () => {
  test('has its types replaced by spaces, so that lines and columns stay', () => {
    const source = [
      'interface Reading {',
      '  at: string // 漢字 😀',
      '}',
      'type Window = "é😀漢" | number',
      'export default (',
      '  { x }: { x: Reading },',
      '  ctx: unknown,',
      '): Promise<{',
      '  y: number',
      '}> => { throw new Error("here") }',
    ].join('\n')
    const { code: stripped } = checkSource('ts', source)
    assert.equal(stripped.length, source.length)
    assert.equal(stripped.split('\n').length, source.split('\n').length)
    assert.equal(stripped.indexOf('throw new Error'), source.indexOf('throw new Error'))
    assert.doesNotMatch(stripped, /Reading|Window|unknown|number/)
  })

  test('has the digest of what runs', () => {
    const body = checkSource('ts', 'export default ({ x }: { x: number }) => x')
    assert.equal(body.digest, createHash('sha256').update(body.code).digest('hex'))
    assert.equal(checkSource('js', body.code).digest, body.digest)
  })

  test('exports its default in any of the ways that there are', () => {
    for (const source of [
      'export default inputs => inputs',
      'export default async function* body() {}',
      'const body = () => ({}); export default body',
      'const body = () => ({}); export { body as default }',
      'const body = () => ({}); export { body as "default" }',
      "export { default } from './body.mjs'",
      'await 1; export default wrap(() => 1)',
    ])
      assert.equal(checkSource('js', source).code, source)
  })

  test('may be TypeScript in all that stripping can do', () => {
    checkSource(
      'ts',
      'abstract class A<T> { declare x: T; private y = 1 as const; abstract z(): void }\nexport type { B } from "b"\nexport default <T,>(x: T) => x satisfies T',
    )
  })
})

describe('a syntax error is named with its line and column in the source as it was written', () => {
  test('found while types are stripped', () => {
    assert.equal(refusal('export default () => {\n  let y = ;\n}'), 'syntax_error 2:11 Expression expected')
    assert.equal(refusal('\tlet y = ;'), 'syntax_error 1:10 Expression expected')
    assert.equal(refusal('const 漢 = "😀é"; let y = ;'), 'syntax_error 1:26 Expression expected')
    assert.equal(refusal(`${'// line\r\n'.repeat(20)}let y = ;`), 'syntax_error 21:9 Expression expected')
  })

  test('found after types were stripped, behind types of several lines', () => {
    const source =
      'type A = {\n  a: "é😀漢"\n}\nexport default (input: {\n  a: number\n}) => { const x = 1; const x = 2 }'
    assert.equal(refusal(source), "syntax_error 6:28 Identifier 'x' has already been declared")
    assert.equal(refusal('let a: "é😀漢" = 1; let a = 2'), "syntax_error 1:24 Identifier 'a' has already been declared")
  })

  test('at the end of the source', () => {
    assert.equal(refusal('export default () => {'), "syntax_error 1:23 Expected '}', got '<eof>'")
    assert.equal(refusal('export default () => {', 'js'), 'syntax_error 1:23 Unexpected token')
  })

  test('what stripping cannot do: enum, namespace, parameter properties and the like', () => {
    const not = 'is not supported; types are only removed, so write JavaScript for it'
    assert.equal(refusal('export default 1; enum A { x }'), `syntax_error 1:19 TypeScript enum ${not}`)
    assert.equal(
      refusal('\n\tconst a = "enum"; /* enum */ enum A {\n  x\n}\n'),
      `syntax_error 2:31 TypeScript enum ${not}`,
    )
    assert.equal(
      refusal('let x = 1\n\n  namespace A {\n  export const x = 1\n}'),
      `syntax_error 3:3 TypeScript namespace declaration ${not}`,
    )
    assert.equal(
      refusal('class A {\n  constructor(private x: number) {}\n}'),
      `syntax_error 2:23 TypeScript parameter property ${not}`,
    )
    assert.match(refusal('let x = <any>y'), /^syntax_error 1:9 .*angle-bracket/)
    assert.match(refusal('import x = require("a")'), /^syntax_error 1:1 TypeScript import equals declaration/)
  })

  test('syntax that this Node cannot run', () => {
    assert.match(refusal('@deco class A {}\nexport default () => 1', 'js'), /^syntax_error 1:1 /)
    assert.match(refusal('{ using x = y() }\nexport default () => 1', 'js'), /^syntax_error 1:9 /)
    assert.match(refusal('export default () => <b>hi</b>', 'js'), /^syntax_error 1:22 /)
  })
})

describe('a body must be there', () => {
  test('nothing is exported as default', () => {
    for (const source of ['', 'export const body = () => 1', 'module.exports = () => 1'])
      assert.match(refusal(source), /^no_default_export 1:1 nothing is exported as default; write "export default/)
  })

  test('the default export is plainly no function', () => {
    assert.equal(
      refusal('\nexport default { a: 1 }'),
      'no_default_export 2:16 the default export is an object, not a function',
    )
    assert.equal(refusal('export default 5'), 'no_default_export 1:16 the default export is a constant, not a function')
    assert.equal(
      refusal('export default class {}'),
      'no_default_export 1:16 the default export is a class, not a function',
    )
  })
})

describe('a code node', () => {
  const refusedNode = (change: object): string[] => {
    try {
      checked({ nodes: [{ ...code('a', '', ''), ...change }] })
    } catch (error) {
      assert.ok(error instanceof ServiceError)
      return [error.code, ...error.errors.map(({ loc }) => loc)]
    }
    return []
  }

  test('needs a source in a language that runs here', () => {
    assert.deepEqual(refusedNode({ source: null }), ['validation', 'nodes[0].source'])
    assert.deepEqual(refusedNode({ language: 'python' }), ['language_unavailable', 'nodes[0].language'])
    assert.deepEqual(refusedNode({ language: 'js' }), [])
  })

  test('has a source of bounded size, in characters and in bytes', () => {
    const comment = (character: string, count: number): string => `//${character.repeat(count)}\nexport default () => 1`
    assert.deepEqual(refusedNode({ source: comment('x', limits.SOURCE_BYTES) }), ['validation', 'nodes[0].source'])
    assert.deepEqual(refusedNode({ source: comment('漢', limits.SOURCE_BYTES / 2) }), ['validation', 'nodes[0].source'])
    assert.deepEqual(refusedNode({ source: comment('x', limits.SOURCE_BYTES - 100) }), [])
  })
})

test('nothing is written to stderr, and warnings of others still are', () => {
  const url = (path: string): string => pathToFileURL(new URL(path, import.meta.url).pathname).href
  const program = `
    import { checkSource } from '${url('../../../threads/nodes/code.ts')}'
    checkSource('ts', 'export default (x: number) => x')
    process.emitWarning('heard', 'ExperimentalWarning')
  `
  const { stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  assert.match(stderr, /ExperimentalWarning: heard/)
  assert.doesNotMatch(stderr, /stripTypeScriptTypes/)
})

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { type Imported, importedBy } from './kit/imported.ts'
import { filesUnder, ROOT } from './kit/sources.ts'

/** Which of our folders a folder may import from, besides itself. */
const DIRECTIONS: Record<string, readonly string[]> = {
  protocol: [],
  core: ['protocol'],
  threads: ['core', 'protocol'],
  server: ['threads', 'core', 'protocol', 'docs'],
  clients: ['protocol'],
  docs: ['protocol'],
}

/** A dynamic import that the direction forbids and the house allows: the command that runs the engine in its own process. */
const EXCEPTIONS: readonly { by: RegExp; target: string }[] = [{ by: /^clients\/cli\//, target: 'server/main.ts' }]

/** Packages with one door. Benches and tests may use them bare: they are the floor, or the other end of the wire. */
const ONE_DOOR: Record<string, string> = { 'uWebSockets.js': 'server/http/front.ts', piscina: 'threads/pool.ts' }

const TOP_LEVEL = new Set(
  'core threads protocol server clients bench test docs .ci node_modules .git .svc dist'.split(' '),
)

interface Edge extends Imported {
  by: string
  /** Path from the root for a file of ours, null for a package or a node module. */
  target: string | null
}

const edges: Edge[] = Object.keys(DIRECTIONS)
  .flatMap(folder => filesUnder(folder, '.ts'))
  .flatMap(by =>
    importedBy(readFileSync(join(ROOT, by), 'utf8')).map(imported => ({
      ...imported,
      by,
      target: imported.from.startsWith('.') ? relative(ROOT, join(ROOT, dirname(by), imported.from)) : null,
    })),
  )

const folderOf = (path: string): string => path.slice(0, path.indexOf('/'))
const told = (list: readonly Edge[]): string[] => list.map(edge => `${edge.by} imports ${edge.from}`)

describe('imports go one way', () => {
  for (const [folder, allowed] of Object.entries(DIRECTIONS)) {
    test(`${folder} imports ${allowed.length === 0 ? 'nothing of ours' : `only ${allowed.join(', ')}`}`, () => {
      const wrong = edges.filter(
        edge =>
          folderOf(edge.by) === folder &&
          edge.target !== null &&
          folderOf(edge.target) !== folder &&
          !allowed.includes(folderOf(edge.target)) &&
          !EXCEPTIONS.some(exception => edge.dynamic && exception.by.test(edge.by) && exception.target === edge.target),
      )
      assert.deepEqual(told(wrong), [])
    })
  }

  test('what server takes from docs is the examples and nothing else', () => {
    const wrong = edges.filter(
      edge =>
        folderOf(edge.by) === 'server' && edge.target?.startsWith('docs/') && edge.target !== 'docs/examples/index.ts',
    )
    assert.deepEqual(told(wrong), [])
  })

  test('core imports no package and no node module', () => {
    const wrong = edges.filter(edge => folderOf(edge.by) === 'core' && edge.target === null && edge.from !== '#atomics')
    assert.deepEqual(told(wrong), [])
  })

  for (const [name, door] of Object.entries(ONE_DOOR)) {
    test(`${name} is imported only in ${door}`, () => {
      const wrong = edges.filter(edge => (edge.from === name || edge.from.startsWith(`${name}/`)) && edge.by !== door)
      assert.deepEqual(told(wrong), [])
    })
  }

  test('what the store is made of is imported by the store alone; its face is server/store/front', () => {
    const room = 'server/store/'
    const wrong = edges.filter(
      edge => edge.target?.startsWith(room) && !edge.by.startsWith(room) && !edge.target.startsWith(`${room}front/`),
    )
    assert.deepEqual(told(wrong), [])
  })

  test('the file under the store knows none of the rooms that use it', () => {
    const room = 'server/store/file/'
    const wrong = edges.filter(
      edge => edge.by.startsWith(room) && edge.target?.startsWith('server/') && !edge.target.startsWith(room),
    )
    assert.deepEqual(told(wrong), [])
  })

  test('every file that an import names exists', () => {
    const wrong = edges.filter(edge => edge.target !== null && !existsSync(join(ROOT, edge.target)))
    assert.deepEqual(told(wrong), [])
  })
})

test('no folder stands at the top level that the house does not know', () => {
  const strange = readdirSync(ROOT, { withFileTypes: true })
    .filter(entry => entry.isDirectory() && !TOP_LEVEL.has(entry.name))
    .map(entry => entry.name)
  assert.deepEqual(strange, [])
})

describe('what a source imports is found by parsing', () => {
  const from = (source: string): string[] => importedBy(source).map(imported => imported.from)

  test('values, types, side effects, re-exports and dynamic imports count', () => {
    assert.deepEqual(
      from(
        [
          "import a, { type B } from './a.ts'",
          "import type { C } from './c.ts'",
          "import type D from './d.ts'",
          "import './e.ts'",
          "export type { F } from './f.ts'",
          "export * from './g.ts'",
          "const h: number = (await import('./h.ts')).h",
        ].join('\n'),
      ),
      ['./a.ts', './c.ts', './d.ts', './e.ts', './f.ts', './g.ts', './h.ts'],
    )
  })

  test('comments, strings and type aliases do not', () => {
    assert.deepEqual(
      from(
        [
          "// import x from './comment.ts'",
          'const text = "import y from \'./text.ts\'"',
          'export type Z<T> = { from: T }',
          'export type Y = string',
          'export const all = text',
        ].join('\n'),
      ),
      [],
    )
  })
})

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { type Imported, importedBy, runtimeImports } from './kit/imported.ts'
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

/** Of the client library. Parquet is made through a file. */
const NODE_ONLY = /^clients\/client\/(platform\/node\/|exports\/parquet-)/

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
/** Sets of files of which each can be reached from each other, sorted (Tarjan 1972). */
function circlesOf(all: readonly Edge[]): string[][] {
  const next = new Map<string, string[]>()
  for (const { by, target } of all) if (target !== null) next.set(by, [...(next.get(by) ?? []), target])
  const seen = new Map<string, { index: number; low: number; waits: boolean }>()
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (file: string): { index: number; low: number; waits: boolean } => {
    const here = { index: seen.size, low: seen.size, waits: true }
    seen.set(file, here)
    stack.push(file)
    for (const to of next.get(file) ?? []) {
      const there = seen.get(to)
      if (there === undefined) here.low = Math.min(here.low, visit(to).low)
      else if (there.waits) here.low = Math.min(here.low, there.index)
    }
    if (here.low !== here.index) return here
    const circle = stack.splice(stack.indexOf(file))
    for (const one of circle) seen.get(one)!.waits = false
    if (circle.length > 1) circles.push(circle.sort())
    return here
  }
  for (const file of next.keys()) if (!seen.has(file)) visit(file)
  return circles
}

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

  test('of the client library only platform/node needs Node: the rest is for browsers too', () => {
    const wrong = edges.filter(
      edge =>
        edge.by.startsWith('clients/client/') &&
        !NODE_ONLY.test(edge.by) &&
        (edge.from.startsWith('node:') || edge.from === 'ws' || edge.target?.includes('/platform/')),
    )
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

/** Which rooms of server/ a room may import from, besides itself. Every room may write to the log (`LOG`). */
const ROOMS: Record<string, readonly string[]> = {
  artifacts: ['http', 'watch'],
  auth: ['store'],
  calls: ['auth', 'http', 'watch'],
  fanout: ['auth', 'http', 'watch'],
  flows: ['dashboards', 'fanout', 'health', 'lanes', 'store', 'watch'],
  health: ['watch'],
  http: ['auth', 'watch'],
  installation: ['store'],
  connectors: ['calls', 'lanes', 'watch'],
  dashboards: ['fanout', 'store', 'watch'],
  hooks: ['artifacts', 'fanout', 'flows', 'http', 'lanes', 'watch'],
  lanes: ['calls', 'health', 'watch'],
  mail: ['auth'],
  mcp: ['auth', 'http', 'watch'],
  observe: ['fanout', 'flows', 'health', 'lanes', 'store', 'watch'],
  oauth: ['auth', 'store'],
  panels: ['auth', 'dashboards', 'fanout', 'health', 'watch'],
  web: ['http'],
  routes: ['web', 'auth', 'calls', 'dashboards', 'flows', 'http', 'mail', 'mcp', 'oauth', 'panels', 'secrets', 'store'],
  runs: ['calls', 'store', 'watch'],
  secrets: ['store', 'watch'],
  store: ['lanes', 'watch'],
  watch: [],
}
const LOG = 'server/observe/serve-log.ts'
/** What routes and sockets ask of the engine, how the program is configured, and how long a page of a list may be: for every room. */
const SHARED = new Set(['server/engine.ts', 'server/config.ts', 'server/list-page.ts', LOG])

/**
 * Files that know each other's types, named by the first file of each circle. One is right: a wave names the execution that emits it,
 * an execution its seat, a seat the line before its node, and that line the waves in it. They are one web of objects, and each
 * of them is a file of its own. At run time their imports go one way.
 */
const CIRCLES = ['core/cascade/mailbox.ts']

const FILES_IN_A_FOLDER = 20

/** `server/http/front.ts` stands in the room `http`; null on the floor and outside of server. */
const roomOf = (path: string): string | null => /^server\/([^/]+)\//.exec(path)?.[1] ?? null

describe('the rooms of server', () => {
  const between = edges.filter(
    ({ by, target }) => target !== null && roomOf(by) !== null && target.startsWith('server/') && !SHARED.has(target),
  )

  test('each imports from the rooms that it may know, and nobody imports what puts the program together', () => {
    const wrong = between.filter(({ by, target }) => {
      const [from, to] = [roomOf(by)!, roomOf(target!)]
      return from !== to && (to === null || !(ROOMS[from] ?? []).includes(to))
    })
    assert.deepEqual(told(wrong), [])
  })

  test('no two rooms know each other', () => {
    const mutual = Object.entries(ROOMS).flatMap(([room, known]) =>
      known.filter(other => room < other && ROOMS[other]?.includes(room)).map(other => `${room} ${other}`),
    )
    assert.deepEqual(mutual, [])
  })
})

/** Threads and processes that hold nothing against a schema. */
const WITHOUT_SCHEMAS = [
  'clients/cli/program.ts',
  'clients/cli/start/supervisor.ts',
  'server/store/front/reader.ts',
  'server/store/writer/thread.ts',
  'server/artifacts/thread.ts',
  'threads/lane/lane.ts',
  'threads/timer/timer.ts',
  'threads/connectors/connectors.ts',
  'threads/calls/call-slot.ts',
  'threads/calls/worker-program.ts',
  'threads/calls/worker-thread.ts',
  'threads/nodes/source-worker.ts',
  'threads/timer/timer.ts',
]

/** By file, the file that loads it, from an entry on: types are gone. */
function loadedBy(entry: string): Map<string, string> {
  const by = new Map([[entry, entry]])
  const names = ({ from, dynamic }: Imported, file: string): string | null =>
    dynamic ? null : from.startsWith('.') ? relative(ROOT, join(ROOT, dirname(file), from)) : from
  for (const file of by.keys()) {
    if (!file.endsWith('.ts')) continue
    for (const imported of runtimeImports(readFileSync(join(ROOT, file), 'utf8'))) {
      const target = names(imported, file)
      if (target !== null && !by.has(target)) by.set(target, file)
    }
  }
  return by
}

describe('typebox takes 0.2 s of a start and is not loaded by', () => {
  for (const entry of WITHOUT_SCHEMAS) {
    test(entry, () => assert.equal(loadedBy(entry).get('typebox'), undefined))
  }
})

test('the package of MCP is not loaded by a start, but with the first request', () => {
  assert.equal(loadedBy('server/build.ts').get('@modelcontextprotocol/server'), undefined)
  assert.notEqual(loadedBy('server/mcp/open.ts').get('@modelcontextprotocol/server'), undefined)
})

test('no files import each other in a circle, types included, beyond the circles that are known', () => {
  const circles = circlesOf(edges).filter(circle => !CIRCLES.includes(circle[0]!))
  assert.deepEqual(circles, [])
})

test('a folder has at most twenty files', () => {
  const counts = new Map<string, number>()
  for (const folder of Object.keys(DIRECTIONS))
    for (const file of filesUnder(folder, '.ts')) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  const crowded = [...counts].filter(([, count]) => count > FILES_IN_A_FOLDER)
  assert.deepEqual(crowded, [])
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

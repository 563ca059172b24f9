import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodesWithNewCode } from '../../../core/flow/code-change.ts'
import type { NormalDocument, NormalNode } from '../../../protocol/nouns/flow-document.ts'

const node = (id: string, more: Partial<NormalNode> = {}): NormalNode => ({
  id,
  type: 'code',
  language: 'ts',
  source: `export default () => '${id}'`,
  settings: {},
  ports: { inputs: [], outputs: [] },
  resources: { cpus: null, gpus: null, ram: null, env: {}, flavor: null },
  duration_s: null,
  timeout: null,
  cache: true,
  device: null,
  isolation: null,
  position: { x: 0, y: 0 },
  ...more,
})
const flow = (...nodes: NormalNode[]): NormalDocument => ({ nodes, inputs: [] })
const env = (variables: Record<string, string>): Pick<NormalNode, 'resources'> => ({
  resources: { cpus: null, gpus: null, ram: null, env: variables, flavor: null },
})

test('settings, wires, places and removals bring no code', () => {
  const before = flow(node('a'), node('b'), node('c'))
  const moved = node('a', { position: { x: 5, y: 5 }, settings: { depth: 3 }, timeout: 4 })
  const wired = node('b', {
    ports: { inputs: [{ name: 'x', dtype: 'float', message: 'y', trigger: true }], outputs: [] },
  })
  assert.deepEqual(nodesWithNewCode(before, flow(moved, wired)), [])
})

test('a node without a body, and one of a type that has none, bring no code', () => {
  const inject = node('tick', { type: 'inject', source: null })
  assert.deepEqual(nodesWithNewCode(null, flow(node('empty', { source: null }), inject)), [])
})

test('a body that is new or another, its language, its isolation and its environment are code', () => {
  const before = flow(
    node('body'),
    node('language'),
    node('isolation'),
    node('env', env({ A: '1', B: '2' })),
    node('kept'),
  )
  const after = flow(
    node('body', { source: 'export default () => 2' }),
    node('language', { language: 'js' }),
    node('isolation', { isolation: 'process' }),
    node('env', env({ A: '1', NODE_OPTIONS: '--import=./x.mjs' })),
    node('kept'),
    node('added'),
    node('variables', { source: null, ...env({ LD_PRELOAD: '/x.so' }) }),
  )
  assert.deepEqual(nodesWithNewCode(before, after), ['body', 'language', 'isolation', 'env', 'added', 'variables'])
})

test('a body under the id of another node is new', () => {
  const before = flow(node('a'), node('b'))
  const swapped = flow(node('a', { source: before.nodes[1]!.source }), node('b'))
  assert.deepEqual(nodesWithNewCode(before, swapped), ['a'])
})

test('the order of variables is no change', () => {
  assert.deepEqual(
    nodesWithNewCode(flow(node('a', env({ A: '1', B: '2' }))), flow(node('a', env({ B: '2', A: '1' })))),
    [],
  )
})

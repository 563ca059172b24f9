import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { documentDiff } from '../../../core/flow/document-diff.ts'
import { arbitraryDocument, checked, code } from '../../kit/flow-documents.ts'
import { seed } from '../../kit/random.ts'

const before = checked({ nodes: [code('a', '', 'x'), code('b', 'x', 'y')], inputs: [{ message: 'raw', dtype: 'int' }] })

test('a changed setting is one difference at its place', () => {
  const after = structuredClone(before)
  before.nodes[1]!.settings = { window: 12, list: [1, 2] }
  after.nodes[1]!.settings = { window: 13, list: [1, 2, 3], 'a/b': true }
  assert.deepEqual(documentDiff(before, after), [
    { path: '/nodes/1/settings/window', before: 12, after: 13 },
    { path: '/nodes/1/settings/list/2', after: 3 },
    { path: '/nodes/1/settings/a~1b', after: true },
  ])
})

test('a node put in front leaves the others alone', () => {
  const first = checked({ nodes: [code('new', '', 'z')] }).nodes[0]!
  const after = { ...before, nodes: [first, ...before.nodes] }
  assert.deepEqual(documentDiff(before, after), [{ path: '/nodes/0', after: first }])
  assert.deepEqual(documentDiff(after, before), [{ path: '/nodes/0', before: first }])
})

test('a changed port is found by its name, a flow input by its message', () => {
  const after = structuredClone(before)
  after.nodes[1]!.ports.outputs[0]!.rate_hz = 10
  after.inputs[0]!.default = 0
  assert.deepEqual(documentDiff(before, after), [
    { path: '/nodes/1/ports/outputs/0/rate_hz', before: null, after: 10 },
    { path: '/inputs/0/default', after: 0 },
  ])
})

test('another order of nodes is one difference', () => {
  const after = { ...before, nodes: before.nodes.toReversed() }
  assert.deepEqual(documentDiff(before, after), [{ path: '/nodes', before: ['a', 'b'], after: ['b', 'a'] }])
})

test('a document that appears or goes is one difference at the root', () => {
  assert.deepEqual(documentDiff(null, before), [{ path: '', after: before }])
  assert.deepEqual(documentDiff(before, null), [{ path: '', before }])
  assert.deepEqual(documentDiff(null, null), [])
})

test(`equal documents have no difference, others have one (seed ${seed})`, () => {
  fc.assert(
    fc.property(arbitraryDocument, arbitraryDocument, (one, other) => {
      const [a, b] = [checked(one), checked(other)]
      assert.deepEqual(documentDiff(a, structuredClone(a)), [])
      assert.equal(documentDiff(a, b).length === 0, JSON.stringify(a) === JSON.stringify(b))
    }),
    { seed, numRuns: 50 },
  )
})

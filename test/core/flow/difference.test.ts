import assert from 'node:assert/strict'
import { test } from 'node:test'
import { difference } from '../../../core/flow/difference.ts'
import { checked, code } from '../../kit/flow-documents.ts'

const hash = (text: string): string => text

test('a first save starts every node', () => {
  const document = checked({ nodes: [code('a', '', 'x'), code('b', 'x', '')] })
  assert.deepEqual(difference(null, document, hash), { restarted: ['a', 'b'], kept: [], removed: [] })
})

test('a save restarts what changed, keeps what did not, and names what is gone', () => {
  const before = checked({ nodes: [code('a', '', 'x'), code('b', 'x', ''), code('c', 'x', '')] })
  const after = checked({
    nodes: [
      { ...code('b', 'x', ''), position: { x: 4, y: 2 } },
      code('new', 'x', ''),
      { ...code('a', '', 'x'), timeout: 3 },
    ],
  })
  assert.deepEqual(difference(before, after, hash), { restarted: ['new', 'a'], kept: ['b'], removed: ['c'] })
})

test('ports in another order are the same ports', () => {
  const node = code('a', 'x y', 'z')
  const before = checked({ nodes: [node] })
  const after = checked({ nodes: [{ ...node, ports: { ...node.ports, inputs: node.ports.inputs!.toReversed() } }] })
  assert.deepEqual(difference(before, after, hash).kept, ['a'])
})

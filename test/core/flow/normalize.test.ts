import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { normalize } from '../../../core/flow/normalize.ts'
import type { FlowDocument } from '../../../protocol/nouns/flow-document.ts'
import { arbitraryDocument, checked } from '../../kit/flow-documents.ts'
import { seed } from '../../kit/random.ts'

const smallest: FlowDocument = { nodes: [{ id: 'a', type: 'code', ports: {} }] }

test('everything but id, type and ports has a default', () => {
  assert.deepEqual(normalize(smallest), {
    nodes: [
      {
        id: 'a',
        type: 'code',
        language: 'ts',
        source: null,
        settings: {},
        ports: { inputs: [], outputs: [] },
        resources: { cpus: null, gpus: null, ram: null, env: {}, flavor: null },
        duration_s: null,
        timeout: null,
        cache: true,
        device: null,
        isolation: null,
        position: { x: 0, y: 0 },
      },
    ],
    inputs: [],
  })
})

test('a port carries the message of its own name, wakes its node, and is not limited in rate', () => {
  const [node] = normalize({
    nodes: [
      {
        id: 'a',
        type: 'code',
        ports: { inputs: [{ name: 'x', dtype: 'int' }], outputs: [{ name: 'y', dtype: 'str', message: null }] },
      },
    ],
  }).nodes
  assert.deepEqual(node?.ports, {
    inputs: [{ name: 'x', dtype: 'int', message: 'x', trigger: true }],
    outputs: [{ name: 'y', dtype: 'str', message: 'y', rate_hz: null }],
  })
})

test("a flow's own message needs no flow in front", () => {
  const document: FlowDocument = {
    nodes: [
      {
        id: 'a',
        type: 'code',
        ports: {
          inputs: [
            { name: 'x', dtype: 'int', message: 'boiler.raw' },
            { name: 'y', dtype: 'int', message: 'boiler2.raw' },
          ],
        },
      },
    ],
  }
  const messages = normalize(document, 'boiler').nodes[0]?.ports.inputs.map(port => port.message)
  assert.deepEqual(messages, ['raw', 'boiler2.raw'])
})

test('an input without a default has none, and one whose default is null has null', () => {
  const { inputs } = normalize({
    nodes: [],
    inputs: [
      { message: 'a', dtype: 'json' },
      { message: 'b', dtype: 'json', default: null },
    ],
  })
  assert.deepEqual(inputs, [
    { message: 'a', dtype: 'json' },
    { message: 'b', dtype: 'json', default: null },
  ])
})

test(`a document read back with its defaults means the same (seed ${seed})`, () => {
  fc.assert(
    fc.property(arbitraryDocument, document => {
      const first = checked(document)
      assert.deepEqual(normalize(first, 'f'), first)
      assert.deepEqual(checked(JSON.parse(JSON.stringify(first))), first)
    }),
    { seed, numRuns: 100 },
  )
})

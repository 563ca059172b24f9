import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renameReferences } from '../../../core/flow/rename.ts'
import { checked, code } from '../../kit/flow-documents.ts'

const document = checked({
  nodes: [code('a', 'boiler.raw boiler2.raw raw !boiler.mean', 'boiler'), code('b', 'raw', '')],
})

test('a rename rewrites what names the flow, and only that', () => {
  const renamed = renameReferences(document, 'boiler', 'kettle')
  assert.deepEqual(
    renamed?.nodes[0]?.ports.inputs.map(port => port.message),
    ['kettle.raw', 'boiler2.raw', 'raw', 'kettle.mean'],
  )
  assert.equal(renamed?.nodes[0]?.ports.outputs[0]?.message, 'boiler')
  assert.deepEqual(renameReferences(renamed!, 'kettle', 'boiler'), document)
})

test('a document that does not name the flow has nothing to rewrite', () => {
  assert.equal(renameReferences(document, 'oiler', 'kettle'), null)
  assert.equal(renameReferences(document, 'raw', 'kettle'), null)
})

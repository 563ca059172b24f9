import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedNodes, keepDraft, keptDraft, lineDifference, withNode } from '../../../clients/web/src/flows/draft.ts'
import type { FlowDocument } from '../../../protocol/nouns/flow-document.ts'

const DOCUMENT: FlowDocument = {
  nodes: [
    { id: 'a', type: 'code', source: 'one', ports: {} },
    { id: 'b', type: 'code', source: 'two', ports: {}, position: { x: 0, y: 0 } },
  ],
}

test('a node is changed when more than its position differs, or when it comes or goes', () => {
  const moved = withNode(DOCUMENT, 'b', { position: { x: 9, y: 9 } })
  assert.deepEqual(changedNodes(DOCUMENT, moved), [])
  assert.deepEqual(changedNodes(DOCUMENT, withNode(moved, 'b', { source: 'three' })), ['b'])
  const other = { nodes: [DOCUMENT.nodes[0]!, { id: 'c', type: 'code', ports: {} }] }
  assert.deepEqual(changedNodes(DOCUMENT, other), ['c', 'b'])
})

test('a draft is kept by the name of its flow, and one that cannot be read is none', () => {
  const kept = new Map<string, string>()
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  }
  const draft = { base_version: 3, document: DOCUMENT }
  keepDraft('tank', draft, storage)
  assert.deepEqual(keptDraft('tank', storage), draft)
  assert.equal(keptDraft('other', storage), null)
  kept.set('draft tank', '{')
  assert.equal(keptDraft('tank', storage), null)
  keepDraft('tank', null, storage)
  assert.equal(kept.size, 0)
  const full = { ...storage, setItem: () => assert.fail('QuotaExceededError') }
  keepDraft('tank', draft, full)
})

test('a difference shows the lines that differ, with two lines round them', () => {
  const text = (before: string[], after: string[]): string[] =>
    lineDifference(before.join('\n'), after.join('\n')).map(({ sign, text: line }) => sign + line)
  assert.deepEqual(text(['a', 'b', 'c', 'd', 'e', 'f'], ['a', 'b', 'c', 'x', 'e', 'f']), [
    ' b',
    ' c',
    '-d',
    '+x',
    ' e',
    ' f',
  ])
  assert.deepEqual(text(['a'], ['a', 'b']), [' a', '+b'])
  assert.deepEqual(text(['a', 'a'], ['a']), [' a', '-a'])
  assert.deepEqual(text(['a'], ['a']), [' a'])
})

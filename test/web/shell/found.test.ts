import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ICONS } from '../../../clients/web/src/parts/icons.ts'
import { iconOfFound, pathOfFound } from '../../../clients/web/src/shell/found.ts'
import { SEARCH_KINDS } from '../../../protocol/nouns/search/found.ts'

test('every kind of thing that is found has an icon and a place in the app', () => {
  for (const kind of SEARCH_KINDS) {
    assert.ok(iconOfFound({ kind }) in ICONS, kind)
    assert.match(pathOfFound({ kind, name: 'a.b', flow: 'a' }), /^\/[a-z]/)
  }
})

test('a found node leads to its flow with the node open, a message to the tree', () => {
  assert.equal(pathOfFound({ kind: 'node', name: 'boiler.smooth', flow: 'boiler' }), '/flows/boiler?node=smooth')
  assert.equal(pathOfFound({ kind: 'message', name: 'boiler.raw', flow: 'boiler' }), '/messages?message=boiler.raw')
})

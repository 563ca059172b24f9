import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import Type from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { FlowDocument } from '../../../protocol/nouns/flow-document.ts'
import { ClientFrame } from '../../../protocol/socket/frames.ts'
import { describe, place } from '../../../protocol/values/describe.ts'
import { createChecker } from '../../../protocol/values/explain.ts'
import { seed } from '../../kit/random.ts'

test('a place is written as a program would reach it', () => {
  assert.equal(place('', 'nodes'), 'nodes')
  assert.equal(place(place('nodes', 2), 'settings'), 'nodes[2].settings')
  assert.equal(place('settings', 'a "b"'), 'settings["a \\"b\\""]')
  assert.equal(place('settings', 'k'.repeat(1_000)).length, 52)
})

test('a value is described in a few characters', () => {
  assert.deepEqual(['x'.repeat(99), 5, null, undefined, [], {}, true, () => 1].map(describe), [
    `"${'x'.repeat(39)}…"`,
    '5',
    'null',
    'undefined',
    'a list',
    'an object',
    'true',
    'a function',
  ])
})

test('a union of constants lists them, one of types names them, and of objects the constant decides', () => {
  const checker = createChecker(
    Type.Object({
      a: Type.Optional(Type.Union([Type.Literal('x'), Type.Literal(2)])),
      b: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
    }),
  )
  assert.deepEqual(checker.refusals({ a: 'y', b: 'z' }), [
    { loc: 'a', msg: 'must be "x" or 2, not "y"' },
    { loc: 'b', msg: 'must be a finite number or null, not "z"' },
  ])
  const frames = createChecker(ClientFrame)
  assert.deepEqual(
    frames.refusals({ type: 'publish', id: 1, name: 'raw', value: 1 }, 'frame').map(({ loc }) => loc),
    ['frame.name'],
  )
  assert.deepEqual(frames.refusals({ type: 'media', names: 'x' }), [{ loc: 'names', msg: 'must be a list, not "x"' }])
})

test('what must be one of several values is told which, and what is in a list twice', () => {
  const role = Type.Enum(['viewer', 'editor'])
  const scopes = Type.Array(Type.Enum(['read', 'run', 'edit']), { uniqueItems: true })
  const checker = createChecker(
    Type.Object({
      name: Type.String(),
      role: Type.Optional(role),
      was: Type.Optional(Type.Union([role, Type.Null()])),
      scopes: Type.Optional(scopes),
    }),
  )
  assert.deepEqual(checker.refusals({ name: 5, role: 'boss', was: 7, scopes: ['read', 'all'] }), [
    { loc: 'name', msg: 'must be a string, not 5' },
    { loc: 'role', msg: 'must be "viewer" or "editor", not "boss"' },
    { loc: 'was', msg: 'must be "viewer", "editor" or null, not 7' },
    { loc: 'scopes[1]', msg: 'must be "read", "run" or "edit", not "all"' },
  ])
  assert.deepEqual(checker.refusals({ name: 'a', was: 'editor', scopes: ['run', 'read', 'run'] }), [
    { loc: 'scopes[2]', msg: '"run" is in the list already' },
  ])
})

test('numbers, lengths and counts name their bound', () => {
  const checker = createChecker(
    Type.Object({
      low: Type.Number({ minimum: 1 }),
      high: Type.Integer({ exclusiveMaximum: 5 }),
      whole: Type.Integer(),
      short: Type.String({ minLength: 3 }),
      some: Type.Array(Type.Null(), { minItems: 1 }),
    }),
  )
  assert.deepEqual(
    checker.refusals({ low: 0, high: 5, whole: 1.5, short: '', some: [] }).map(({ loc, msg }) => `${loc} ${msg}`),
    [
      'low must be at least 1, not 0',
      'high must be less than 5, not 5',
      'whole must be an integer, not 1.5',
      'short has 0 characters; at least 3 are needed',
      'some has 0 items; at least 1 are needed',
    ],
  )
})

test(`what the validator refuses has at least one place, and what it accepts has none (seed ${seed})`, () => {
  const checker = createChecker(FlowDocument)
  const key = fc.constantFrom(
    'id',
    'type',
    'ports',
    'inputs',
    'outputs',
    'name',
    'dtype',
    'resources',
    'ram',
    'cpus',
    'x',
    '__proto__',
  )
  const value = fc.oneof(
    fc.constantFrom('a', 'code', 'int', 'ts', '2G', null, 1, -1, 1.5, true),
    fc.jsonValue({ maxDepth: 1 }),
  )
  const tree: fc.Arbitrary<unknown> = fc.letrec(tie => ({
    tree: fc.oneof(
      { depthSize: 'medium' },
      value,
      fc.dictionary(key, tie('tree'), { maxKeys: 5 }),
      fc.array(tie('tree'), { maxLength: 3 }),
    ),
  })).tree
  fc.assert(
    fc.property(tree, fc.boolean(), (anything, asNode) => {
      const raw = asNode ? { nodes: [anything] } : anything
      const places = checker.refusals(raw)
      assert.ok(places.length <= limits.ERROR_PLACES)
      for (const { loc, msg } of places) assert.ok(loc !== '' && msg !== '')
    }),
    { seed, numRuns: 1_000 },
  )
})

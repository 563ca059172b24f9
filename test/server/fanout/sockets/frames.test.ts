import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Compile } from 'typebox/compile'
import { ServiceError } from '../../../../protocol/errors.ts'
import { PublishFrame } from '../../../../protocol/socket/frames.ts'
import { idOf, isPublishFrame, readFrame } from '../../../../server/fanout/sockets/frames.ts'
import { seed } from '../../../kit/random.ts'

const refusal = (text: string): ServiceError => {
  try {
    readFrame(text)
  } catch (error) {
    assert.ok(error instanceof ServiceError)
    return error
  }
  assert.fail(`taken: ${text.slice(0, 200)}`)
}

test('each frame is read as it was written', () => {
  const frames = [
    { type: 'subscribe', names: ['boiler.raw'], flows: ['tank'], events: true },
    { type: 'subscribe' },
    { type: 'unsubscribe', names: ['boiler.raw'] },
    { type: 'publish', id: 7, name: 'boiler.raw', value: null },
    { type: 'publish', id: 'a-1', name: 'boiler.raw', value: { deep: [1] } },
    { type: 'have', versions: { 'boiler.raw': 12 } },
    { type: 'figures', flows: ['boiler'], engine: true },
    { type: 'figures' },
    { type: 'follow_activity', nodes_of: 'boiler' },
    { type: 'follow_activity', nodes_of: null },
    { type: 'unfollow_activity' },
  ]
  for (const frame of frames) assert.deepEqual(readFrame(JSON.stringify(frame)), frame)
})

test('what is no frame is refused, and the refusal says what is wrong', () => {
  const refused: [text: string, code: string, detail: RegExp][] = [
    ['', 'malformed_json', /JSON/],
    ['{"type":', 'malformed_json', /JSON/],
    ['null', 'malformed_frame', /type/],
    ['7', 'malformed_frame', /type/],
    ['[]', 'malformed_frame', /type/],
    ['{}', 'malformed_frame', /type/],
    ['{"type":["publish"]}', 'malformed_frame', /type/],
    ['{"type":"steal"}', 'malformed_frame', /"steal"/],
    ['{"type":"media","names":"a.b"}', 'validation', /places/],
    ['{"type":"subscribe","names":"boiler.raw"}', 'validation', /./],
    ['{"type":"figures","flows":"boiler"}', 'validation', /places/],
    ['{"type":"subscribe","names":["no-dot"]}', 'validation', /./],
    ['{"type":"subscribe","flows":["a.b"]}', 'validation', /./],
    ['{"type":"subscribe","more":1}', 'validation', /./],
    ['{"type":"publish","id":1,"name":"boiler.raw"}', 'validation', /./],
    ['{"type":"publish","name":"boiler.raw","value":1}', 'validation', /./],
    ['{"type":"publish","id":{},"name":"boiler.raw","value":1}', 'validation', /./],
    ['{"type":"publish","id":1,"name":"boiler.raw","value":1,"__proto__":2}', 'validation', /./],
    ['{"type":"have"}', 'validation', /./],
    ['{"type":"follow_activity","nodes_of":"a.b"}', 'validation', /./],
    ['{"type":"have","versions":{"boiler.raw":-1}}', 'validation', /./],
    ['{"type":"have","versions":{"boiler.raw":"1"}}', 'validation', /./],
  ]
  for (const [text, code, detail] of refused) {
    const error = refusal(text)
    assert.equal(error.code, code, text)
    assert.match(error.detail, detail, text)
  }
  assert.deepEqual(
    refusal('{"type":"subscribe","names":["boiler.raw","no-dot"]}').errors.map(({ loc }) => loc),
    ['frame.names.1'],
  )
})

test('lists over the bound and deep nesting are refused or read without harm', () => {
  const names = Array.from({ length: 10_001 }, (_, at) => `boiler.m${at}`)
  assert.equal(refusal(JSON.stringify({ type: 'subscribe', names })).code, 'validation')
  const versions = Object.fromEntries(names.map(name => [name, 1]))
  assert.equal(refusal(JSON.stringify({ type: 'have', versions })).code, 'too_large')
  const deep = '['.repeat(500_000) + ']'.repeat(500_000)
  assert.equal(readFrame(`{"type":"publish","id":1,"name":"boiler.raw","value":${deep}}`).type, 'publish')
  assert.equal(refusal(`{"type":"subscribe","names":${deep}}`).code, 'validation')
})

test('the hand-written check of a publish frame answers as its schema does', () => {
  console.log(`SEED=${seed}`)
  const schema = Compile(PublishFrame)
  const key = fc.constantFrom('type', 'id', 'name', 'value', 'durable', 'durable', 'extra', '__proto__', 'toString')
  const value = fc.oneof(
    fc.constantFrom('publish', 'subscribe', 'boiler.raw', 'boiler', 'a.b.c', '', 'x'.repeat(128), 'x'.repeat(129)),
    fc.constantFrom(`${'n'.repeat(64)}.${'n'.repeat(64)}`, `${'n'.repeat(65)}.n`, 'boiler.ra w', 'boiler.raw\n'),
    fc.double(),
    fc.boolean(),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const good = fc.record({
    type: fc.constant('publish'),
    id: fc.oneof(fc.string({ maxLength: 130 }), fc.double()),
    name: fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,3}\.[A-Za-z_][A-Za-z0-9_-]{0,3}$/),
    value: fc.jsonValue(),
  })
  const changed = fc
    .tuple(
      good,
      fc.dictionary(key, value, { maxKeys: 2 }),
      fc.subarray(['type', 'id', 'name', 'value'], { maxLength: 1 }),
    )
    .map(([frame, more, less]) => {
      const all: Record<string, unknown> = { ...frame, ...more }
      for (const name of less) delete all[name]
      return all
    })
  fc.assert(
    fc.property(fc.oneof(good, changed, fc.jsonValue()), frame => {
      // As it comes from the wire.
      const text = JSON.stringify(frame)
      assert.equal(isPublishFrame(JSON.parse(text)), schema.Check(JSON.parse(text)), text)
    }),
    { seed, numRuns: 5_000 },
  )
})

test('a refused frame is answered with its id when it has one', () => {
  assert.equal(idOf('{"type":"publish","id":"x","name":7}'), 'x')
  assert.equal(idOf('{"type":"steal","id":4}'), 4)
  assert.equal(idOf('{"type":"steal","id":{}}'), null)
  assert.equal(idOf('{"type":"steal"'), null)
  assert.equal(idOf('"id"'), null)
})

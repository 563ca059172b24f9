import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TopicTemplate } from '../../../threads/nodes/topic-template.ts'

test('a template takes values of ports, and members within them', () => {
  const template = new TopicTemplate('plant/{machine}/{value.unit.name}/{n}')
  assert.deepEqual(template.ports, ['machine', 'value', 'n'])
  assert.equal(template.fault, null)
  assert.deepEqual(template.render({ machine: 'm1', value: { unit: { name: 'C' } }, n: 2 }), { topic: 'plant/m1/C/2' })
})

test('what cannot be a topic is said', () => {
  const template = new TopicTemplate('a/{x}')
  for (const x of [undefined, null, {}, [], '+', 'a/#', '\0']) assert.ok('fault' in template.render({ x }), String(x))
  assert.deepEqual(template.render({ x: false }), { topic: 'a/false' })
  assert.ok('fault' in new TopicTemplate('{x}').render({ x: '' }))
  for (const bad of ['a/{x', 'a/+', 'a}b', '']) assert.notEqual(new TopicTemplate(bad).fault, null, bad)
})

test('only members of the value itself count', () => {
  assert.ok('fault' in new TopicTemplate('{x.constructor.name}').render({ x: {} }))
  assert.ok('fault' in new TopicTemplate('{toString}').render({}))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { filterFault, matches, overlap, topicFault } from '../../../threads/nodes/mqtt-topics.ts'

const name = fc.constantFrom('', 'a', 'b', 'c', '$x')
const topics = fc
  .array(name, { minLength: 1, maxLength: 4 })
  .map(levels => levels.join('/'))
  .filter(topic => topic !== '')
const filters = fc
  .tuple(fc.array(fc.oneof(name, fc.constant('+')), { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([levels, rest]) => [...levels, ...(rest ? ['#'] : [])].join('/'))
  .filter(filter => filter !== '')

/** As the standard says it, in the words of regular expressions. */
function expected(filter: string, topic: string): boolean {
  if (topic.startsWith('$') && /^[+#]/.test(filter)) return false
  const pattern = filter
    .split('/')
    .map(level => (level === '+' ? '[^/]*' : level === '#' ? '#' : level.replace('$', '\\$')))
    .join('/')
  const whole = pattern === '#' ? '.*' : pattern.endsWith('/#') ? `${pattern.slice(0, -2)}(/.*)?` : pattern
  return new RegExp(`^${whole}$`).test(topic)
}

test('a filter matches the topics that the standard says', () => {
  fc.assert(fc.property(filters, topics, (filter, topic) => matches(filter, topic) === expected(filter, topic)))
  for (const [filter, topic, is] of [
    ['sport/#', 'sport', true],
    ['sport/+', 'sport', false],
    ['sport/+', 'sport/', true],
    ['+/+', '/finance', true],
    ['#', '$SYS/x', false],
    ['$SYS/#', '$SYS/x', true],
  ] as const)
    assert.equal(matches(filter, topic), is, `${filter} ${topic}`)
})

test('two filters overlap when a topic matches both, and only then', () => {
  fc.assert(
    fc.property(filters, filters, topics, (one, other, topic) => {
      assert.equal(overlap(one, other), overlap(other, one))
      if (matches(one, topic) && matches(other, topic)) assert.ok(overlap(one, other))
    }),
  )
  // Witnesses: a topic for every pair that is said to overlap.
  fc.assert(
    fc.property(
      filters,
      filters,
      (one, other) => overlap(one, other) === witnesses().some(topic => matches(one, topic) && matches(other, topic)),
    ),
  )
})

let known: string[] | null = null
function witnesses(): string[] {
  if (known !== null) return known
  const levels = ['', 'a', 'b', 'c', '$x']
  known = []
  let last: string[] = ['']
  for (let depth = 0; depth < 5; depth++) {
    last = last.flatMap(start => levels.map(level => (depth === 0 ? level : `${start}/${level}`)))
    known.push(...last)
  }
  return known
}

test('what is no filter, and what is no topic, is said', () => {
  for (const filter of ['', 'a/b#', 'a/#/b', 'a+/b', 'x\0', '$share/g/a'])
    assert.notEqual(filterFault(filter), null, filter)
  for (const filter of ['#', '+', 'a/+/b/#', '/', '$SYS/#']) assert.equal(filterFault(filter), null, filter)
  for (const topic of ['', 'a/+', '#', 'a\0', 'x'.repeat(65_536)]) assert.notEqual(topicFault(topic), null)
  assert.equal(topicFault('plant/1/ü'), null)
})

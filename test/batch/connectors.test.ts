import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceError } from '../../protocol/errors.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, node, output } from '../kit/live-story.ts'
import { json, outside } from '../kit/outside.ts'

const live = sharedEngine()

test('a flow with sources runs as a batch with what they would publish, and asks outside each time', async t => {
  const story = new BatchStory(live.engine)
  const there = await outside(t, ({ body }, response) => json(response, body === '' ? 1 : JSON.parse(body)))
  await story.save(
    'sources',
    flow([
      node('hook', 'webhook', {}, [], [output('body', 'json', { message: 'ordered' }), output('headers', 'json')]),
      node('poll', 'http-poll', { url: there.url, every_s: 3600 }, [], [output('body', 'float', { message: 'price' })]),
      code(
        'bill',
        'export default ({ ordered, price }) => ({ total: ordered.amount * price })',
        [input('ordered', 'json'), input('price', 'float')],
        [output('total', 'float')],
      ),
      node(
        'send',
        'http',
        { url: there.url },
        [input('total', 'float')],
        [output('body', 'json', { message: 'sent' })],
      ),
    ]),
  )
  await assert.rejects(story.create('sources', { inputs: { price: 2 } }), ({ errors }: ServiceError) => {
    assert.deepEqual(errors, [{ loc: 'body.inputs.ordered', msg: 'needs a value: it has no default (json)' }])
    return true
  })
  const before = there.heard.filter(({ method }) => method === 'POST').length
  for (const cached of [false, true]) {
    const run = await story.runs('sources', { inputs: { ordered: { amount: 3 }, price: 2.5 } })
    assert.deepEqual([run.status, run.result], ['succeeded', { total: 7.5, sent: { total: 7.5 } }])
    assert.deepEqual(await story.statuses(run.id), {
      hook: 'skipped',
      poll: 'skipped',
      bill: cached ? 'cached' : 'succeeded',
      send: 'succeeded',
    })
  }
  assert.equal(there.heard.filter(({ method }) => method === 'POST').length, before + 2)
})

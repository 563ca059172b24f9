import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { LiveEngine } from '../../server/live-engine.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, node, output, Story } from '../kit/live-story.ts'
import { Mosquitto, skip as noBroker } from '../kit/mosquitto.ts'

const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1', FLOW_CPUS: '2' })
const x = input('x', 'int')
const y = output('y', 'int')
const int = { message: 'x', dtype: 'int' as const }
const DOUBLE = 'export default ({ x }) => ({ y: 2 * x })'

/** What the engine answers over HTTP: the status, the code of a refusal, the document. */
async function ask(method: string, path: string, given: { token?: string; text?: string } = {}) {
  const { token, text } = given
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`
  const answer = await fetch(live.url + path, { method, headers, ...(text === undefined ? {} : { body: text }) })
  // biome-ignore lint/suspicious/noExplicitAny: tests say what they expect of it
  const json = (await answer.json()) as any
  return { status: answer.status, code: json.code as string | undefined, json }
}
const tokenOf = (): string => readFileSync(join(live.data_dir, 'token'), 'utf8')

test('a request: each station refuses what it is there for, and what passes them all is answered', async () => {
  const story = new Story(live.engine)
  await story.save('request', flow([code('body', DOUBLE, [x], [y])], int))
  const path = '/messages/request.x'
  const token = tokenOf()
  const refusals = [
    await ask('GET', '/nowhere', { token }),
    await ask('PATCH', path, { token }),
    await ask('POST', path, { text: '{"value":1}' }),
    await ask('POST', path, { token, text: '{"value":' }),
    await ask('POST', path, { token, text: '{"valve":1}' }),
    await ask('POST', '/messages/request.z', { token, text: '{"value":1}' }),
    await ask('POST', path, { token, text: '{"value":"one"}' }),
  ]
  assert.deepEqual(
    refusals.map(({ code }) => code),
    [
      'not_found',
      'method_not_allowed',
      'unauthenticated',
      'malformed_json',
      'validation',
      'message_not_found',
      'wrong_dtype',
    ],
  )
  assert.equal(story.version('request.x'), 0)
  assert.equal((await ask('POST', path, { token, text: '{"value":1}' })).status, 202)
  await story.becomes('request.y', 2)
})

test('a history read: what was published a moment ago is in it', async () => {
  const story = new Story(live.engine)
  await story.save('read', flow([code('body', DOUBLE, [x], [y])], int))
  for (const value of [1, 2, 3]) story.publish('read.x', value)
  const { json } = await ask('GET', '/messages/read.x/history', { token: tokenOf() })
  assert.deepEqual(
    json.items.map((point: { version: number; value: number }) => [point.version, point.value]),
    [
      [1, 1],
      [2, 2],
      [3, 3],
    ],
  )
})

test('a dispatched call: what it declares is claimed, its slot runs it, its outputs go on, and nothing is held afterwards', async () => {
  const story = new Story(live.engine)
  const more = { resources: { cpus: 1 } }
  const reader = code('reader', 'export default ({ y }) => ({ z: y + 1 })', [input('y', 'int')], [output('z', 'int')])
  await story.save('call', flow([code('body', DOUBLE, [x], [y], more), reader], int))
  for (const value of [1, 2, 3]) story.publish('call.x', value)
  assert.deepEqual(await story.values('call.z', 3), [3, 5, 7])
  const { workers } = live.engine as LiveEngine
  await eventually(() => workers.resources().machines[0]!.held.length === 0, 'nothing is held')
  assert.equal(workers.resources().machines[0]!.free.cpus, 2)
})

test("a connector's value: read, published, run, left in the outbox and sent; what is no value is refused on its way", {
  skip: noBroker,
}, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const heard = await broker.heard(t, 'out/#')
  const { url } = broker
  const into = node('in', 'mqtt-in', { url, topics: ['in'], qos: 1 }, [], [output('value', 'int', { message: 'x' })])
  const out = node('out', 'mqtt-out', { url, topic: 'out/{value}', qos: 1 }, [input('value', 'int', { message: 'y' })])
  await story.save('connector', flow([into, code('body', DOUBLE, [x], [y]), out]))
  await broker.granted('in')
  for (const payload of ['1', 'no JSON', '"one"', '2']) await client.publishAsync('in', payload, { qos: 1 })
  await eventually(() => heard.length === 2, 'what the flow has sent')
  assert.deepEqual(heard, ['out/2 2', 'out/4 4'])
  assert.deepEqual(
    (await story.errors('connector.in', 2)).map(({ code }) => code),
    ['wrong_dtype', 'bad_message'],
  )
})

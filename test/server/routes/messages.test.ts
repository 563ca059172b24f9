import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Asking } from '../../kit/asking.ts'
import { boiler, type ServedFront, serveFront } from '../../kit/served-front.ts'

let served: ServedFront
let asking: Asking
before(async () => {
  served = await serveFront()
  asking = new Asking(served)
  await asking.ask('PUT', '/flows/boiler', { body: { document: boiler } })
  await asking.ask('PUT', '/flows/press', { body: { document: boiler } })
})
after(() => served.close())

const publish = (value: unknown, name = 'boiler.raw') => asking.ask('POST', `/messages/${name}`, { body: { value } })

describe('messages over HTTP', () => {
  test('a published value is accepted with its version, and is the latest one', async () => {
    const first = await publish(1.5)
    assert.deepEqual([first.status, first.json], [202, { name: 'boiler.raw', version: 1 }])
    assert.deepEqual((await publish(2)).json, { name: 'boiler.raw', version: 2 })
    const { value, version, dtype, publisher } = (await asking.ask('GET', '/messages/boiler.raw')).json
    assert.deepEqual([value, version, dtype, publisher], [2, 2, 'float', null])
  })

  test('a message without a value is there, at version 0', async () => {
    const { value, version, publisher } = (await asking.ask('GET', '/messages/boiler.smooth')).json
    assert.deepEqual([value, version, publisher], [null, 0, 'boiler.smoother'])
  })

  test('one value or a list of them: a list is all or nothing', async () => {
    const before = (await asking.ask('GET', '/messages/press.raw')).json.version
    const one = await asking.ask('POST', '/messages/', { body: { name: 'press.raw', value: 1 } })
    assert.deepEqual(one.json, { name: 'press.raw', version: before + 1 })
    const list = [
      { name: 'press.raw', value: 2 },
      { name: 'press.raw', value: 3 },
    ]
    const many = await asking.ask('POST', '/messages/', { body: list })
    assert.deepEqual(
      many.json.map((item: { version: number }) => item.version),
      [before + 2, before + 3],
    )
    const spoiled = [...list, { name: 'press.raw', value: 'warm' }]
    assert.equal(await asking.code('POST', '/messages/', { body: spoiled }), 'wrong_dtype')
    assert.equal(
      await asking.code('POST', '/messages/', { body: [...list, { name: 'press.none', value: 1 }] }),
      'message_not_found',
    )
    assert.equal((await asking.ask('GET', '/messages/press.raw')).json.version, before + 3)
  })

  test('a durable publish is answered when it is on disk; a list is, when one of its values says so', async () => {
    const { engine } = served
    const before = engine.synced
    const durable = { value: 3, durable: true }
    assert.equal((await asking.ask('POST', '/messages/press.raw', { body: durable })).status, 202)
    assert.equal((await asking.ask('POST', '/messages/', { body: { ...durable, name: 'press.raw' } })).status, 202)
    const list = [
      { name: 'press.raw', value: 2 },
      { name: 'press.raw', ...durable },
    ]
    assert.equal((await asking.ask('POST', '/messages/', { body: list })).json.length, 2)
    assert.equal(engine.synced, before + 3)
    await asking.ask('POST', '/messages/press.raw', { body: { value: 3, durable: false } })
    assert.equal(engine.synced, before + 3)
    const unclear = { value: 3, durable: 'yes' }
    assert.equal(await asking.code('POST', '/messages/press.raw', { body: unclear }), 'validation')
  })

  test('lists are bounded', async () => {
    const item = { name: 'press.raw', value: 1 }
    const long = Array.from({ length: limits.PUBLISH_LIST_ITEMS + 1 }, () => item)
    assert.equal(await asking.code('POST', '/messages/', { body: long }), 'validation')
    assert.equal(await asking.code('POST', '/messages/', { body: [] }), 'validation')
  })

  test('what is no publish is refused at its place', async () => {
    const place = async (target: string, body: unknown): Promise<string | undefined> =>
      (await asking.problem('POST', target, { body })).errors[0]?.loc
    assert.equal(await place('/messages/boiler.raw', {}), 'body.value')
    assert.equal(await place('/messages/boiler.raw', { value: 1, version: 7 }), 'body.version')
    assert.equal(await place('/messages/', { value: 1 }), 'body.name')
    assert.equal(await place('/messages/', [{ name: 'raw', value: 1 }]), 'body[0].name')
    assert.equal(await asking.code('POST', '/messages/boiler.raw', { text: '{"value":1' }), 'malformed_json')
    assert.equal(await asking.code('POST', '/messages/boiler.raw', { text: '' }), 'malformed_json')
  })

  test('a form is no JSON', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal(await asking.code('POST', '/messages/boiler.raw', { text: 'value=1', headers }), 'malformed_json')
  })

  test('a message that does not exist is 404, whether its name could be one or not', async () => {
    for (const name of ['boiler.nothing', 'nothing.raw', 'raw', 'a.b.c', '%00', 'boiler%2Eraw%20'])
      for (const [method, rest] of [
        ['GET', ''],
        ['GET', '/history'],
        ['POST', ''],
      ] as const) {
        const body = method === 'POST' ? { value: 1 } : undefined
        assert.equal(await asking.code(method, `/messages/${name}${rest}`, { body }), 'message_not_found', name)
      }
  })

  test('a backlogged flow is 503 with a time to wait', async () => {
    served.engine.backlogged.add('boiler')
    const refused = await publish(1)
    served.engine.backlogged.delete('boiler')
    assert.deepEqual([refused.json.code, refused.headers.get('retry-after')], ['backlogged', '2'])
  })

  test('messages are listed, of all flows or of one', async () => {
    assert.equal((await asking.ask('GET', '/messages')).json.count, 4)
    const { items } = (await asking.ask('GET', '/messages?flow=press')).json
    assert.deepEqual(
      items.map((item: { name: string }) => item.name),
      ['press.raw', 'press.smooth'],
    )
    assert.equal((await asking.problem('GET', '/messages?flow=1st')).errors[0]!.loc, 'query.flow')
  })

  test('history answers points, or closed bins', async () => {
    const all = (await asking.ask('GET', '/messages/boiler.raw/history')).json
    assert.ok(all.items.length >= 2)
    assert.equal(all.bucket_s, null)
    const last = all.items.at(-1)
    const since = encodeURIComponent(last.ts)
    assert.deepEqual((await asking.ask('GET', `/messages/boiler.raw/history?since=${since}`)).json.items, [last])
    assert.deepEqual((await asking.ask('GET', `/messages/boiler.raw/history?since=${last.ts}`)).json.items, [last])
    assert.deepEqual(
      (await asking.ask('GET', `/messages/boiler.raw/history?until=${since}&limit=1`)).json.items.length,
      1,
    )
    assert.equal((await asking.ask('GET', '/messages/boiler.raw/history?bucket_s=0.5')).json.bucket_s, 0.5)
    const before = await asking.ask('GET', `/messages/boiler.raw/history?until=${since}&until_version=${last.version}`)
    assert.ok(before.json.items.every((item: { version: number }) => item.version < last.version))
    for (const query of ['until_version=2', `until=${since}&until_version=2&bucket_s=1`, 'until_version=0'])
      assert.equal(
        (await asking.problem('GET', `/messages/boiler.raw/history?${query}`)).errors[0]!.loc,
        'query.until_version',
      )
  })
})

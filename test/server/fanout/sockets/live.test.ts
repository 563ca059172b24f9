import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ServiceError } from '../../../../protocol/errors.ts'
import { limits } from '../../../../protocol/limits.ts'
import { createCodec } from '../../../../protocol/values/codec.ts'
import { Fanout, type FanoutOptions } from '../../../../server/fanout/fanout.ts'
import { FlowsSocket } from '../../../../server/fanout/sockets/flows.ts'
import { FlowsClient } from '../../../kit/flows-client.ts'
import { startFlowsFront, TOKEN } from '../../../kit/flows-front.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { RawClient } from '../../../kit/raw-client.ts'
import { noActivity, noFigures, noLogs } from '../../../kit/socket-double.ts'
import { newestScratch, ValuesDouble } from '../../../kit/values-double.ts'

/** The real front and real clients; values come from a journal that the test delivers. */
async function room(t: TestContext, options: Partial<FanoutOptions> = {}) {
  const values = new ValuesDouble()
  values.declare('boiler.raw', 'boiler.smooth', 'boiler.level', 'tank.raw')
  const fanout = new Fanout({
    values,
    directory: values,
    decoder: createCodec(),
    scratch: newestScratch(),
    onDefect: error => assert.fail(String(error)),
    ...options,
  })
  const publish = (items: readonly { name: string; value: unknown }[]) =>
    items.map(({ name, value }) => {
      const message = values.indexOf(name)
      if (message === -1) throw new ServiceError('message_not_found', `There is no message ${name}.`)
      if (typeof value !== 'number') throw new ServiceError('wrong_dtype')
      const version = values.publish(message, value)
      setImmediate(() => values.deliver(fanout))
      return { name, version }
    })
  const handlers = new FlowsSocket({
    fanout,
    figures: noFigures(),
    logs: noLogs(),
    activity: noActivity(),
    directory: values,
    onDefect: error => assert.fail(String(error)),
    messages: { publish, publishDurably: async items => publish(items) },
  })
  const { front, port } = await startFlowsFront(handlers)
  fanout.attach(front)
  const clients: FlowsClient[] = []
  t.after(() => {
    for (const client of clients) client.close()
    front.close()
  })
  const connect = async (): Promise<FlowsClient> => {
    const client = await FlowsClient.connect(port, TOKEN)
    clients.push(client)
    return client
  }
  return { values, fanout, connect, front, port }
}

async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !condition(); await turn()) assert.ok(Date.now() < end, 'not reached')
}
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const versionsGoUp = (client: FlowsClient, name: string, has: number): number => {
  for (const { version, missed } of client.values(name)) {
    assert.equal(missed, version - has - 1, `${name}: ${version} after ${has}, missed ${missed}`)
    has = version
  }
  return has
}

test('a value goes from one connection to another, in order', async t => {
  const { connect } = await room(t)
  const [sensor, chart] = [await connect(), await connect()]
  assert.deepEqual(await chart.subscribe({ names: ['boiler.raw'] }), {
    type: 'subscribed',
    names: ['boiler.raw'],
    flows: [],
    events: false,
  })
  for (let value = 1; value <= 500; value++) sensor.say({ type: 'publish', id: value, name: 'boiler.raw', value })
  await chart.until(() => chart.values('boiler.raw').length === 500)
  assert.equal(versionsGoUp(chart, 'boiler.raw', 0), 500)
  await sensor.until(() => sensor.frames('ack').length === 500)
  assert.deepEqual(sensor.received[499], { type: 'ack', id: 500, version: 500 })
})

test('a hundred connections get every value', async t => {
  const { connect, values, fanout } = await room(t)
  const clients = await Promise.all(Array.from({ length: 100 }, connect))
  await Promise.all(clients.map(client => client.subscribe({ flows: ['boiler'] })))
  for (let value = 1; value <= 200; value++) {
    values.publish(value % 3, value)
    values.deliver(fanout)
    if (value % 10 === 0) await turn()
  }
  const names = ['boiler.raw', 'boiler.smooth', 'boiler.level']
  for (const client of clients) {
    for (const [message, name] of names.entries()) {
      await client.until(() => client.values(name).at(-1)?.version === values.version(message))
      assert.equal(versionsGoUp(client, name, 0), values.version(message))
    }
  }
})

test('a websocket that ends gives its place back', async t => {
  const { connect, front } = await room(t)
  const clients = await Promise.all(Array.from({ length: 5 }, connect))
  assert.deepEqual(front.counts(), { connections: 5, sockets: 5 })
  for (const client of clients) client.close()
  await until(() => front.counts().sockets === 0)
  assert.equal(front.counts().connections, 0)
})

test('a connection that stops reading costs the others nothing and ends with the newest value', async t => {
  const { connect, values, fanout } = await room(t)
  const [stalled, chart] = [await connect(), await connect()]
  await stalled.subscribe({ names: ['boiler.raw'], events: true })
  await chart.subscribe({ names: ['boiler.raw'] })
  stalled.stall()
  let published = 0
  // Until the buffers of the kernel are full too, and somewhat beyond.
  while (fanout.counts().slow === 0 && published < 2_000_000) {
    for (let count = 0; count < 200; count++) values.publish(0, ++published)
    values.deliver(fanout)
    await new Promise(resolve => setTimeout(resolve, 1))
    await chart.until(() => chart.values('boiler.raw').length > published - 20_000)
  }
  assert.equal(fanout.counts().slow, 1)
  for (let count = 0; count < 50; count++) {
    values.publish(0, ++published)
    values.deliver(fanout)
    fanout.event({ type: 'node_down', ts: '', flow: 'boiler', run: null, count })
    await turn()
  }
  await chart.until(() => chart.values('boiler.raw').length === published)
  stalled.resume()
  await stalled.until(() => stalled.values('boiler.raw').at(-1)?.version === published)
  assert.ok(stalled.values('boiler.raw').at(-1)!.missed >= 49)
  assert.equal(versionsGoUp(stalled, 'boiler.raw', 0), published)
  await stalled.until(() => stalled.frames('node_down').length === 50)
  values.publish(0, ++published)
  values.deliver(fanout)
  await stalled.until(() => stalled.values('boiler.raw').at(-1)?.version === published)
  assert.equal(stalled.values('boiler.raw').at(-1)?.missed, 0)
  assert.equal(fanout.counts().slow, 0)
  assert.equal(fanout.counts().dropped, 0)
})

test('a connection that reads nothing is closed with 1013, which it sees once it reads', async t => {
  const { connect, values, fanout } = await room(t, { stalled_ms: 50 })
  const stalled = await connect()
  await stalled.subscribe({ names: ['boiler.raw'] })
  stalled.stall()
  for (let published = 0; fanout.counts().stalled === 0; ) {
    for (let count = 0; count < 500; count++) values.publish(0, ++published)
    values.deliver(fanout)
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  stalled.resume()
  await stalled.until(() => stalled.closed !== null)
  assert.equal(stalled.closed?.code, 1013)
})

test('frames that cannot be read are answered, and a flood of them ends the connection', async t => {
  const { connect } = await room(t)
  const client = await connect()
  client.say({ type: 'follow', names: [] })
  await client.until(() => client.frames('error').length === 1)
  assert.equal((await client.publish('boiler.raw', 1))['type'], 'ack')
  for (let count = 0; count < 10 * limits.SOCKET_ERRORS; count++) client.say({ type: 'wild' })
  await client.until(() => client.closed !== null)
  assert.equal(client.closed?.code, 1008)
  assert.equal(client.frames('error').length, limits.SOCKET_ERRORS + 1)
})

test('clients that stall, reconnect and change their minds all end with the newest of each name, and their counts add up', async t => {
  console.log(`SEED=${seed}`)
  const random = randomFrom(seed)
  const { connect, values, fanout } = await room(t, { slow_bytes: 16_384 })
  const names = ['boiler.raw', 'boiler.smooth', 'boiler.level', 'tank.raw']
  let clients = await Promise.all(Array.from({ length: 20 }, connect))
  const held = new Map<FlowsClient, Map<string, number>>()
  for (const client of clients) {
    await client.subscribe({ names })
    held.set(client, new Map(names.map(name => [name, 0])))
  }
  for (let step = 0; step < 150; step++) {
    for (let count = random() * 200; count > 0; count--) values.publish(Math.floor(random() * names.length), step)
    if (random() < 0.1) {
      values.lose(Math.floor(random() * values.journal.length))
      values.deliver(fanout)
      fanout.refreshAll()
    } else values.deliver(fanout, random() < 0.5 ? undefined : 50)
    const client = clients[Math.floor(random() * clients.length)]!
    const dice = random()
    if (dice < 0.2) client.stall()
    else if (dice < 0.5) client.resume()
    else if (dice < 0.7) {
      const has = new Map(names.map(name => [name, versionsGoUp(client, name, held.get(client)!.get(name)!)]))
      client.close()
      const next = await connect()
      next.say({ type: 'have', versions: Object.fromEntries(has) })
      await next.subscribe({ flows: ['boiler'], names: ['tank.raw'] })
      held.set(next, has)
      clients = clients.map(other => (other === client ? next : other))
    }
    await turn()
  }
  values.deliver(fanout)
  fanout.refreshAll()
  for (const client of clients) client.resume()
  for (const client of clients) {
    for (const [message, name] of names.entries()) {
      const has = (): number => client.values(name).at(-1)?.version ?? held.get(client)!.get(name)!
      await client.until(() => has() === values.version(message))
      assert.equal(versionsGoUp(client, name, held.get(client)!.get(name)!), values.version(message))
    }
  }
  assert.equal(fanout.counts().dropped, 0)
})

test('unmasked frames end the connection, and nothing in them is done', async t => {
  const { values, port } = await room(t)
  const client = await RawClient.open(port)
  t.after(() => client.end())
  client.write(
    `GET /ws/flows HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
  )
  await client.until(({ statuses }) => statuses.includes(101))
  const body = '{"type":"publish","id":1,"name":"boiler.raw","value":1}'
  // The library waits for as many bytes as a mask takes, so the second completes the first.
  for (let frame = 0; frame < 3; frame++) client.write(`\x81${String.fromCharCode(body.length)}${body}`)
  const { text } = await client.closed()
  assert.ok(!text.includes('"ack"'), text)
  assert.equal(values.version(values.indexOf('boiler.raw')), 0)
})

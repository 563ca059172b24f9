import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { flow, node, output, Story } from '../kit/live-story.ts'
import { Mosquitto, skip } from '../kit/mosquitto.ts'

const live = sharedEngine()

/** A node whose connection another client takes away once, for a moment, while something is published. */
async function interrupted(
  t: Parameters<typeof Mosquitto.start>[0],
  name: string,
  settings: Record<string, unknown>,
): Promise<unknown[]> {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const { url } = broker
  const reads = node(
    'in',
    'mqtt-in',
    { url, topics: ['t'], qos: 1, client_id: name, ...settings },
    [],
    [output('value', 'int', { message: 'n' })],
  )
  await client.publishAsync('t', '7', { qos: 1, retain: true })
  await story.save(name, flow([reads]))
  await story.reaches(`${name}.n`, 1)
  const twin = await broker.client(t, {
    clientId: name,
    clean: settings['session_s'] === undefined,
    reconnectPeriod: 0,
    properties: { sessionExpiryInterval: 60 },
  })
  await eventually(() => story.issue(name, 'node_down') !== undefined, 'the connection is gone')
  await twin.endAsync(true)
  await eventually(() => story.issue(name, 'node_down') === undefined, 'it is back')
  await client.publishAsync('t', '9', { qos: 1 })
  await story.becomes(`${name}.n`, 9)
  return story.values(`${name}.n`)
}

test('after a lost connection retained messages come again', { skip }, async t => {
  assert.deepEqual(await interrupted(t, 'again', {}), [7, 7, 9])
})

test('with a session that has lasted they do not', { skip }, async t => {
  assert.deepEqual(await interrupted(t, 'lasting', { session_s: 60 }), [7, 9])
})

test('a server that speaks no MQTT is an issue that says so', async t => {
  const story = new Story(live.engine)
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {}).write('HTTP/1.1 400 Bad Request\r\n\r\n')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = `mqtt://127.0.0.1:${(server.address() as { port: number }).port}`
  await story.save('http', flow([node('in', 'mqtt-in', { url, topics: ['t'] }, [], [output('value', 'int')])]))
  await eventually(() => story.issue('http', 'node_down')?.message.includes('is no MQTT') === true, 'the issue')
})

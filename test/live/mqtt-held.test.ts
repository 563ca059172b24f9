import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import type { MqttClient } from 'mqtt'
import { limits } from '../../protocol/limits.ts'
import { CutProxy } from '../kit/cut-proxy.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, node, output, Story } from '../kit/live-story.ts'
import { Mosquitto, skip } from '../kit/mosquitto.ts'

/** The connectors threads of this process, oldest first. */
const threads: Worker[] = []
const onWorker = (message: unknown): void => {
  const { worker } = message as { worker: Worker }
  if (worker.threadName === 'connectors') threads.push(worker)
}
subscribe('worker_threads', onWorker)
test.after(() => unsubscribe('worker_threads', onWorker))

const live = sharedEngine()

/** More than a flow takes, and less than a node may hold. */
const COUNT = limits.FLOW_WAITING_ITEMS + limits.MQTT_HELD / 2
const numbers = Array.from({ length: COUNT }, (_, n) => n)

/** From `topic` to `seen/topic`, with a body that waits for the gate. */
function slow(name: string, broker: Mosquitto, gate: Gate, settings: Record<string, unknown>) {
  const { url } = broker
  return flow([
    node('in', 'mqtt-in', { url, topics: [name], ...settings }, [], [output('value', 'int', { message: 'n' })]),
    code(
      'body',
      `${gate.source}export default async ({ n }) => { await opened(); return { m: n } }`,
      [input('n', 'int')],
      [output('m', 'int')],
    ),
    node('out', 'mqtt-out', { url, topic: `seen/${name}`, qos: 1 }, [input('value', 'int', { message: 'm' })]),
  ])
}

/** Not more at once than a broker takes unacknowledged. */
async function publishAll(client: MqttClient, topic: string, qos: 0 | 1 | 2, count = COUNT): Promise<void> {
  for (let from = 0; from < count; from += 20)
    await Promise.all(
      numbers.slice(from, Math.min(from + 20, count)).map(n => client.publishAsync(topic, String(n), { qos })),
    )
}

/** What came back, each value once, in the order of its first coming. */
const seen = (heard: readonly string[]): number[] => [...new Set(heard.map(line => Number(line.split(' ')[1])))]

for (const qos of [1, 2] as const)
  test(`a full flow of QoS ${qos} holds no other node of its connection, and loses nothing`, { skip }, async t => {
    const story = new Story(live.engine)
    const broker = await Mosquitto.start(t)
    const client = await broker.client(t)
    const gate = new Gate(live.data_dir, `held${qos}`)
    const [slowly, fast] = [`slow${qos}`, `fast${qos}`]
    const heard = await broker.heard(t, `seen/${slowly}`)
    const beside = (id: string, of: number) =>
      node(id, 'mqtt-in', { url: broker.url, topics: [id], qos: of }, [], [output('value', 'int', { message: id })])
    await story.save(slowly, slow(slowly, broker, gate, { qos }))
    await story.save(fast, flow([beside('sure', qos), beside('loose', 0)]))
    await broker.granted(slowly, 'sure', 'loose')
    await publishAll(client, slowly, qos)
    await story.reaches(`${slowly}.n`, limits.FLOW_WAITING_ITEMS)
    await publishAll(client, 'sure', qos, 100)
    await publishAll(client, 'loose', 0, 100)
    await story.reaches(`${fast}.sure`, 100)
    await story.reaches(`${fast}.loose`, 100)
    assert.ok(story.version(`${slowly}.n`) < COUNT, 'some are held')
    gate.open()
    await eventually(() => seen(heard).length === COUNT, 'all of the slow flow')
    assert.deepEqual(
      heard.map(line => Number(line.split(' ')[1])),
      numbers,
    )
    assert.equal(broker.came.filter(id => id.startsWith('flow-')).length, 2, 'one connection in, one out')
  })

test('the connectors thread dies while messages are held: the broker of a session sends them again', {
  skip,
}, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const gate = new Gate(live.data_dir, 'dies')
  const heard = await broker.heard(t, 'seen/dies')
  await story.save('dies', slow('dies', broker, gate, { qos: 1, client_id: 'dies', session_s: 60 }))
  await broker.granted('dies')
  await publishAll(client, 'dies', 1)
  await story.reaches('dies.n', limits.FLOW_WAITING_ITEMS)
  const before = threads.length
  await threads.at(-1)!.terminate()
  await eventually(() => threads.length > before, 'another thread')
  gate.open()
  await eventually(() => seen(heard).length === COUNT, 'every message')
  assert.deepEqual(seen(heard), numbers)
})

test('in a session messages of QoS 2 come once each and in order, however often the connection is cut', {
  skip,
}, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const proxy = await CutProxy.start(t, broker.port)
  const client = await broker.client(t)
  const settings = { url: `mqtt://127.0.0.1:${proxy.port}`, topics: ['once'], qos: 2, client_id: 'once', session_s: 60 }
  await story.save('once', flow([node('in', 'mqtt-in', settings, [], [output('value', 'int', { message: 'n' })])]))
  await broker.granted('once')
  const count = 2_000
  const publishing = publishAll(client, 'once', 2, count)
  for (const least of [200, 700, 1_200]) {
    await story.reaches('once.n', least)
    proxy.cut()
  }
  await publishing
  assert.deepEqual(await story.values('once.n', count), numbers.slice(0, count))
})

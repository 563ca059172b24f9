import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import mqtt from 'mqtt'
import { limits } from '../../../../protocol/limits.ts'
import type { Published } from '../../../../threads/connectors/connector.ts'
import { mqttInRunner } from '../../../../threads/connectors/mqtt/mqtt-in.ts'
import type { MqttInSettings } from '../../../../threads/nodes/types/mqtt-in.ts'
import { ConnectorHostDouble } from '../../../kit/connector-host.ts'
import { eventually } from '../../../kit/live-engine.ts'
import { Mosquitto, skip } from '../../../kit/mosquitto.ts'

/** A node of a flow that is full until it is told otherwise. */
class Host extends ConnectorHostDouble {
  isFull = false
  readonly drops: string[] = []
  #waiting: (() => void)[] = []

  override publish(outputs: Readonly<Record<string, unknown>>): Published {
    return this.isFull ? 'full' : super.publish(outputs)
  }

  override whenRoom(): Promise<void> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  override dropped(reason?: string, count?: number): void {
    this.drops.push(`${reason} ${count}`)
  }

  empty(): void {
    this.isFull = false
    for (const go of this.#waiting.splice(0)) go()
  }
}

function opened(t: TestContext, broker: Mosquitto, hosts: readonly Host[], more: Partial<MqttInSettings>) {
  const [first] = hosts
  const nodes = hosts.map((host, at) => {
    // One connection for all of them.
    host.share = first!.share.bind(first)
    const settings = { url: broker.url, topics: [`t${at}`], payload: 'text' as const, qos: 1 as const, ...more }
    const outputs = [{ name: 'value', dtype: 'str' as const }]
    return mqttInRunner.open({ qualified: `f.n${at}`, settings, inputs: [], outputs }, host)
  })
  t.after(async () => {
    for (const node of nodes) await node.close()
    await first!.sharing.closed()
  })
  return nodes
}

const BIG = Buffer.alloc(limits.MQTT_HELD_BYTES / 4, 'x')

for (const protocol of ['5', '3.1.1'] as const)
  test(`MQTT ${protocol}: when a node may keep no more bytes nothing more is read, and all of it comes later`, {
    skip,
  }, async t => {
    const broker = await Mosquitto.start(t)
    const client = await broker.client(t)
    const [full, other] = [new Host(), new Host()]
    opened(t, broker, [full, other], { protocol })
    await broker.granted('t0', 't1')
    full.isFull = true
    for (let n = 0; n < 3; n++) await client.publishAsync('t0', BIG, { qos: 1 })
    await client.publishAsync('t1', 'passes', { qos: 1 })
    await eventually(() => other.published.length === 1, 'the other node goes on')
    for (let n = 0; n < 5; n++) await client.publishAsync('t0', BIG, { qos: 1 })
    await client.publishAsync('t1', 'waits', { qos: 1 })
    full.empty()
    await eventually(() => full.published.length === 8, 'everything of the full node')
    await eventually(() => other.published.length === 2, 'and of the other')
    assert.deepEqual(full.drops, [])
    assert.equal(broker.came.filter(id => id.startsWith('flow-')).length, 1, 'over one connection')
  })

test('a message behind a long JSON, which is read in slices, keeps its place', { skip }, async t => {
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const host = new Host()
  opened(t, broker, [host], { payload: 'json', json_key: 'level', qos: 0 })
  await broker.granted('t0')
  const rest = Array.from({ length: 100_000 }, (_, n) => ({ n }))
  const sent = [{ level: 1 }, { rest, level: 2 }, { level: 3 }, { rest: {}, level: 4 }]
  await Promise.all(sent.map(message => client.publishAsync('t0', JSON.stringify(message))))
  await eventually(() => host.published.length === sent.length, 'all of them')
  assert.deepEqual(host.published, [{ value: 1 }, { value: 2 }, { value: 3 }, { value: 4 }])
  assert.deepEqual(host.drops, [])
  host.isFull = true
  await client.publishAsync('t0', JSON.stringify({ rest, level: 5 }))
  await eventually(() => host.drops.length === 1, 'of QoS 0 nothing waits for room')
  assert.deepEqual(host.drops, ['flow_full 1'])
})

test('a node that is removed gives up what it keeps, with a number, and no other waits for it', { skip }, async t => {
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const [full, other] = [new Host(), new Host()]
  const [node] = opened(t, broker, [full, other], { protocol: '3.1.1' })
  await broker.granted('t0', 't1')
  full.isFull = true
  // As many as mosquitto sends unacknowledged, and more.
  const count = 30
  await Promise.all(Array.from({ length: count }, (_, n) => client.publishAsync('t0', String(n), { qos: 1 })))
  await client.publishAsync('t1', 'behind', { qos: 1 })
  await node!.close()
  await eventually(() => other.published.length === 1, 'what was behind it')
  assert.equal(full.drops.length, 1)
  assert.match(full.drops[0]!, /^node_changed \d+$/)
})

test('an engine that stops gives up nothing of a session: the broker has it for the next one', { skip }, async t => {
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const hosts = [new Host(), new Host()] as const
  const [full] = hosts
  const nodes = opened(t, broker, hosts, { client_id: 'stops', session_s: 60 })
  await broker.granted('t0', 't1')
  full.isFull = true
  const count = 30
  for (let n = 0; n < count; n++) await client.publishAsync('t0', String(n), { qos: 1 })
  for (const host of hosts) host.stopping = true
  for (const node of nodes) await node.close()
  await full.sharing.closed()
  assert.deepEqual([full.drops, full.published], [[], []])
  const heard: string[] = []
  const next = mqtt.connect(broker.url, {
    protocolVersion: 5,
    clientId: 'stops',
    clean: false,
    properties: { sessionExpiryInterval: 60 },
  })
  t.after(() => next.end(true))
  next.on('message', (_topic, payload) => heard.push(String(payload)))
  await eventually(() => heard.length === count, 'what was not acknowledged')
})

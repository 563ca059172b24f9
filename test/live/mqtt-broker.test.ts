/** What a broker asks for and promises: TLS, wills, sessions, QoS 2, both versions of MQTT. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Authority, skipCertificates } from '../kit/certificates.ts'
import { CutProxy } from '../kit/cut-proxy.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { flow, input, node, output, Story } from '../kit/live-story.ts'
import { Mosquitto, skip } from '../kit/mosquitto.ts'

const live = sharedEngine()
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)
const down = (name: string): string[] =>
  live.engine.flows.get(name).issues.flatMap(({ code, message }) => (code === 'node_down' ? [message] : []))

/** Publishes `x` to the topic `way`, and reads that into `back`. */
const thereAndBack = (settings: Record<string, unknown>) =>
  flow(
    [
      node('send', 'mqtt-out', { topic: 'way', ...settings }, [input('value', 'int', { message: 'x' })]),
      node(
        'take',
        'mqtt-in',
        { topics: ['way'], payload: 'number', ...settings },
        [],
        [output('value', 'int', { message: 'back' })],
      ),
    ],
    { message: 'x', dtype: 'int' },
  )

for (const protocol of ['5', '3.1.1']) {
  for (const qos of [0, 1, 2]) {
    test(`MQTT ${protocol}, QoS ${qos}: every message goes out and comes back once, in order, over TLS`, {
      skip: skip || skipCertificates,
    }, async t => {
      const name = `way${protocol.replaceAll('.', '')}q${qos}`
      const story = new Story(live.engine)
      const authority = new Authority(t)
      const broker = await Mosquitto.start(t, { tls: authority.sign('broker', 'IP:127.0.0.1') })
      await story.save(name, thereAndBack({ url: broker.url, protocol, qos, ca: authority.ca }))
      await broker.granted('way')
      for (const n of upTo(100)) await story.publishPatiently(`${name}.x`, n)
      await story.reaches(`${name}.back`, 100)
      assert.deepEqual(await story.values(`${name}.back`), upTo(100))
    })
  }
}

test('a certificate that is not trusted, or has another name, is refused and said; the name may be given', {
  skip: skip || skipCertificates,
}, async t => {
  const story = new Story(live.engine)
  const [authority, other] = [new Authority(t), new Authority(t, 'another one')]
  const broker = await Mosquitto.start(t, { tls: authority.sign('broker', 'DNS:plant.example') })
  const reads = (more: Record<string, unknown>) =>
    flow([node('take', 'mqtt-in', { url: broker.url, topics: ['t'], ...more }, [], [output('value')])])
  await story.save('untrusted', reads({ ca: other.ca }))
  await story.save('unknown', reads({}))
  await story.save('misnamed', reads({ ca: authority.ca }))
  await story.save('named', reads({ ca: authority.ca, server_name: 'plant.example' }))
  const where = `the broker mqtts://127.0.0.1:${broker.port}`
  for (const name of ['untrusted', 'unknown'])
    await eventually(
      () =>
        down(name).some(
          text => text.includes(`${where} has a certificate that is not trusted`) && text.includes('setting ca'),
        ),
      `why ${name} is down`,
    )
  await eventually(
    () =>
      down('misnamed').some(
        text => text.includes(`${where} has a certificate for another name`) && text.includes('server_name'),
      ),
    'why misnamed is down',
  )
  const client = await broker.client(t, { ca: authority.ca, servername: 'plant.example' })
  await client.publishAsync('t', '1', { retain: true })
  await story.becomes('named.value', 1)
  assert.deepEqual(down('named'), [])
})

test('a broker that wants a certificate of its clients gets it, and one that speaks no TLS is said', {
  skip: skip || skipCertificates,
}, async t => {
  const story = new Story(live.engine)
  const authority = new Authority(t)
  const { cert, key } = authority.sign('engine', 'DNS:engine')
  const broker = await Mosquitto.start(t, {
    tls: authority.sign('broker', 'IP:127.0.0.1'),
    client_ca_path: authority.certificate.cert_path,
  })
  await story.save('mutual', thereAndBack({ url: broker.url, qos: 1, ca: authority.ca, cert, key }))
  await broker.granted('way')
  await story.publishPatiently('mutual.x', 7)
  await story.becomes('mutual.back', 7)
  await story.save('bare', thereAndBack({ url: broker.url, ca: authority.ca }))
  await eventually(() => down('bare').some(text => /wants? a certificate/.test(text)), 'the reason')
  const plain = await Mosquitto.start(t)
  await story.save('plain', thereAndBack({ url: plain.url.replace('mqtt:', 'mqtts:') }))
  await eventually(() => down('plain').some(text => text.includes('does it speak TLS')), 'the reason')
})

test('the will is published when the connection is lost, and not when the node is closed', { skip }, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const proxy = await CutProxy.start(t, broker.port)
  const heard = await broker.heard(t, 'gone/#')
  const reads = (id: string, url: string) =>
    node(
      id,
      'mqtt-in',
      { url, topics: ['t'], qos: 1, will: { topic: `gone/${id}`, payload: 'lost', qos: 1 } },
      [],
      [output('value', 'json', { message: id })],
    )
  await story.save('wills', flow([reads('cut', `mqtt://127.0.0.1:${proxy.port}`), reads('closed', broker.url)]))
  const client = await broker.client(t)
  await client.publishAsync('t', '1', { retain: true })
  await story.reaches('wills.cut', 1)
  await story.reaches('wills.closed', 1)
  await story.save('wills', flow([reads('cut', `mqtt://127.0.0.1:${proxy.port}`)]))
  proxy.cut()
  await eventually(() => heard.length > 0, 'the will')
  assert.deepEqual(heard, ['gone/cut lost'])
})

for (const protocol of ['5', '3.1.1']) {
  test(`MQTT ${protocol}: what comes while the engine is away waits in its session, in order`, { skip }, async t => {
    const first = await liveEngine(t)
    const broker = await Mosquitto.start(t)
    const client = await broker.client(t)
    const settings = { url: broker.url, protocol, topics: ['way'], payload: 'number', qos: 2 }
    const reads = node(
      'take',
      'mqtt-in',
      { ...settings, client_id: 'plant', session_s: 600 },
      [],
      [output('value', 'int')],
    )
    const story = new Story(first.engine)
    await story.save('kept', flow([reads]))
    await client.publishAsync('way', '0', { qos: 1, retain: true })
    await story.reaches('kept.value', 1)
    await first.close()
    for (const n of [1, 2, 3, 4, 5]) await client.publishAsync('way', String(n), { qos: 2 })
    const later = new Story((await first.restart()).engine)
    // The retained value comes after it, and may be there already.
    await eventually(async () => (await later.values('kept.value')).includes(5), 'the last message')
    const values = await later.values('kept.value')
    // The subscription is made again, and brings the retained value once more.
    assert.deepEqual(
      values.filter((value, at) => at === 0 || value !== 0),
      upTo(6),
    )
  })
}

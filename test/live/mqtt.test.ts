import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, node, output, Story } from '../kit/live-story.ts'
import { Mosquitto, skip } from '../kit/mosquitto.ts'

const live = sharedEngine()
const down = (name: string): string[] =>
  live.engine.flows.get(name).issues.flatMap(({ code, message }) => (code === 'node_down' ? [message] : []))
/** Of a flow that was down: a node that has reported nothing yet is not down. */
const isWell = (name: string): Promise<void> => eventually(() => down(name).length === 0, `${name} is well`)

/** Publishes until the flow has something: the subscription may not stand yet. */
async function untilHeard(story: Story, message: string, publish: () => Promise<unknown>): Promise<void> {
  await eventually(async () => {
    await publish()
    return story.version(message) > 0
  }, `a first value of ${message}`)
}

test('messages of matching topics are published with their topic, once for each node, over one connection', {
  skip,
}, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const both = node(
    'both',
    'mqtt-in',
    { url: broker.url, topics: ['plant/+/t', 'plant/#'], json_key: 'v.c', qos: 1 },
    [],
    [output('value', 'float', { message: 'c' }), output('topic', 'str', { message: 'from' })],
  )
  const one = node(
    'one',
    'mqtt-in',
    { url: broker.url, topics: ['plant/1/t'], qos: 1 },
    [],
    [output('value', 'json', { message: 'raw' })],
  )
  const join = code(
    'join',
    'export default ({ c, from }) => ({ said: from + "=" + c })',
    [input('c', 'float'), input('from', 'str')],
    [output('said', 'str')],
  )
  await client.publishAsync('plant/0/t', '{"v":{"c":0.5}}', { qos: 1, retain: true })
  await story.save('plant', flow([both, one, join]))
  await story.reaches('plant.said', 1)
  await broker.granted('plant/+/t', 'plant/#', 'plant/1/t')
  for (const n of [1, 2, 1]) await client.publishAsync(`plant/${n}/t`, `{"v":{"c":${n}}}`, { qos: 1 })
  await story.reaches('plant.said', 4)
  await story.reaches('plant.raw', 2)
  assert.deepEqual(await story.values('plant.said'), ['plant/0/t=0.5', 'plant/1/t=1', 'plant/2/t=2', 'plant/1/t=1'])
  assert.deepEqual(await story.values('plant.raw'), [{ v: { c: 1 } }, { v: { c: 1 } }])
  assert.equal(broker.came.filter(id => id.startsWith('flow-')).length, 1)
})

test('with MQTT 3.1.1 overlapping filters bring each message once, too', { skip }, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const old = node(
    'old',
    'mqtt-in',
    { url: broker.url, protocol: '3.1.1', topics: ['a/+', 'a/#', '+/b'], payload: 'number', qos: 1 },
    [],
    [output('value', 'int')],
  )
  // Retained ones say that both connections have subscribed.
  await client.publishAsync('a/b', '1', { qos: 1, retain: true })
  await client.publishAsync('x/b', '2', { qos: 1, retain: true })
  await story.save('old', flow([old]))
  await story.reaches('old.value', 2)
  for (const n of [3, 4, 5]) await client.publishAsync('a/b', String(n), { qos: 1 })
  await story.reaches('old.value', 5)
  const values = (await story.values('old.value')) as number[]
  assert.deepEqual([...values.slice(0, 2).toSorted(), ...values.slice(2)], [1, 2, 3, 4, 5])
})

test('a second node on the same filter gets the retained value, and the first not again', { skip }, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  await client.publishAsync('kept', '7', { qos: 1, retain: true })
  const reads = (id: string) =>
    node(id, 'mqtt-in', { url: broker.url, topics: ['kept'], qos: 1 }, [], [output('value', 'int', { message: id })])
  await story.save('first', flow([reads('a')]))
  await story.reaches('first.a', 1)
  await story.save('second', flow([reads('b')]))
  await story.reaches('second.b', 1)
  await client.publishAsync('kept', '8', { qos: 1 })
  await story.reaches('first.a', 2)
  await story.reaches('second.b', 2)
  assert.deepEqual(await story.values('first.a'), [7, 8])
  assert.deepEqual(await story.values('second.b'), [7, 8])
})

test('an alarm goes out to the topic that its values make, in order, acknowledged', { skip }, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const heard = await broker.heard(t, 'alarm/#')
  const send = (id: string, qos: number) =>
    node(id, 'mqtt-out', { url: broker.url, topic: 'alarm/{name}/{value.level}', qos }, [
      input('value', 'json', { message: 'x' }),
      input('name', 'str', { message: `name${qos}`, trigger: false }),
    ])
  const names = [0, 1, 2].map(qos => ({ message: `name${qos}`, dtype: 'str' as const, default: `q${qos}` }))
  await story.save(
    'out',
    flow([send('none', 0), send('one', 1), send('two', 2)], { message: 'x', dtype: 'json' }, ...names),
  )
  const levels = Array.from({ length: 50 }, (_, level) => level)
  for (const level of levels) await story.publishPatiently('out.x', { level })
  await eventually(() => heard.length >= 150, 'all messages')
  for (const qos of [0, 1, 2])
    assert.deepEqual(
      heard.filter(line => line.includes(`q${qos}`)),
      levels.map(level => `alarm/q${qos}/${level} {"level":${level}}`),
    )
  await story.publishPatiently('out.x', { level: '#' })
  const errors = await story.errors('out.one')
  assert.equal(errors[0]!.code, 'bad_topic')
})

test('bytes become a volatile artifact, ten megabytes of them too, and garbage is an error that stops nothing', {
  skip,
}, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const frames = node(
    'frames',
    'mqtt-in',
    { url: broker.url, topics: ['frame'], payload: 'bytes', media_type: 'image/jpeg', qos: 1 },
    [],
    [output('value', 'image', { message: 'frame' })],
  )
  const json = node(
    'json',
    'mqtt-in',
    { url: broker.url, topics: ['json'], qos: 1 },
    [],
    [output('value', 'json', { message: 'json' })],
  )
  const bytes = Buffer.alloc(10_000_000, 7)
  await client.publishAsync('frame', bytes, { qos: 1, retain: true })
  await client.publishAsync('json', 'no { json', { qos: 1, retain: true })
  await story.save('frames', flow([frames, json]))
  await story.reaches('frames.frame', 1)
  const { digest, media_type, size } = story.value('frames.frame') as {
    digest: string
    media_type: string
    size: number
  }
  assert.deepEqual(
    [digest, media_type, size],
    [`sha256:${createHash('sha256').update(bytes).digest('hex')}`, 'image/jpeg', bytes.length],
  )
  assert.equal((await story.errors('frames.json'))[0]!.code, 'bad_message')
  await client.publishAsync('json', '{"fine":true}', { qos: 1 })
  await story.becomes('frames.json', { fine: true })
})

test('a broker that is gone at the start and in the middle is an issue that names it, ends by itself, and is none of the others', {
  skip,
}, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const other = await Mosquitto.start(t)
  await broker.kill()
  const reads = (url: string, message: string) =>
    node(message, 'mqtt-in', { url, topics: ['t'], qos: 1 }, [], [output('value', 'int', { message })])
  await story.save('gone', flow([reads(broker.url, 'n')]))
  await story.save('there', flow([reads(other.url, 'n')]))
  await eventually(
    () => down('gone').some(text => text.includes('n') && text.includes(`127.0.0.1:${broker.port}`)),
    'the issue',
  )
  await broker.begin()
  await isWell('gone')
  const client = await broker.client(t)
  await untilHeard(story, 'gone.n', () => client.publishAsync('t', '1', { qos: 1 }))
  await broker.kill()
  await eventually(() => down('gone').length > 0, 'the issue again')
  assert.deepEqual(down('there'), [])
  await broker.begin()
  await isWell('gone')
  const before = story.version('gone.n')
  await client.publishAsync('t', '2', { qos: 1 })
  await story.reaches('gone.n', before + 1)
  assert.equal(story.value('gone.n'), 2)
})

test('a wrong password is said, and tried again until it is right', { skip }, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t, { password: 'right' })
  const reads = (password: string) =>
    node(
      'n',
      'mqtt-in',
      { url: broker.url, topics: ['t'], username: 'plant', password, qos: 1 },
      [],
      [output('value', 'int')],
    )
  await story.save('locked', flow([reads('wrong')]))
  await eventually(
    () => down('locked').some(text => text.includes('refuses the user name or the password')),
    'the issue',
  )
  assert.ok(down('locked').every(text => !text.includes('wrong')))
  await story.save('locked', flow([reads('right')]))
  await broker.granted('t')
  await isWell('locked')
})

test('two clients with one id: the issue asks for the other', { skip }, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const twin = await broker.client(t, { clientId: 'plant', reconnectPeriod: 20 })
  await story.save(
    'twin',
    flow([node('n', 'mqtt-in', { url: broker.url, topics: ['t'], client_id: 'plant' }, [], [output('value', 'int')])]),
  )
  await eventually(() => down('twin').some(text => text.includes('another client with the id "plant"')), 'the issue')
  await twin.endAsync(true)
  await isWell('twin')
})

test('a deploy that leaves a node as it is keeps its connection', { skip }, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const heard = await broker.heard(t, 'gone')
  const reads = node(
    'n',
    'mqtt-in',
    { url: broker.url, topics: ['t'], qos: 1, will: { topic: 'gone', payload: 'x' } },
    [],
    [output('value', 'int')],
  )
  const client = await broker.client(t)
  await client.publishAsync('t', '1', { qos: 1, retain: true })
  await story.save('stays', flow([reads]))
  await story.reaches('stays.value', 1)
  await story.save('stays', flow([reads, code('more', 'export default () => ({})', [input('value', 'int')])]))
  await client.publishAsync('t', '2', { qos: 1 })
  await story.reaches('stays.value', 2)
  // A new connection would have brought the retained value again.
  assert.deepEqual(await story.values('stays.value'), [1, 2])
  assert.deepEqual(heard, [])
})

test('a slow flow loses nothing of QoS 1', { skip }, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const client = await broker.client(t)
  const slow = (id: string, qos: number) => [
    node(id, 'mqtt-in', { url: broker.url, topics: [id], qos }, [], [output('value', 'int', { message: `${id}_in` })]),
    code(
      `${id}_slow`,
      `export default async input => { await new Promise(resolve => setTimeout(resolve, 1)); return { ${id}_out: input.${id}_in } }`,
      [input(`${id}_in`, 'int')],
      [output(`${id}_out`, 'int')],
    ),
  ]
  await client.publishAsync('sure', '-1', { qos: 1, retain: true })
  await story.save('slow', flow(slow('sure', 1)))
  await story.reaches('slow.sure_out', 1)
  const count = 3_000
  for (let n = 0; n < count; n++) client.publish('sure', String(n), { qos: 1 })
  await story.reaches('slow.sure_out', count + 1)
  const values = await story.values('slow.sure_out')
  assert.deepEqual(
    values,
    Array.from({ length: count + 1 }, (_, n) => n - 1),
  )
})

test('while the broker is away messages wait, the oldest fall out with a number, and the rest goes out in order', {
  skip,
}, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  await broker.kill()
  const send = node('send', 'mqtt-out', { url: broker.url, topic: 'late', qos: 1, retain: true }, [
    input('value', 'json', { message: 'x' }),
  ])
  await story.save('late', flow([send], { message: 'x', dtype: 'json' }))
  await eventually(() => down('late').length > 0, 'the issue')
  const filling = 'x'.repeat(100_000)
  const count = 60
  for (let n = 0; n < count; n++) await story.publishPatiently('late.x', { n, filling })
  await story.executed('late', 'send', count)
  await eventually(async () => (await story.dropped('broker_away')) > 0, 'some fall out')
  const fell = await story.dropped('broker_away')
  await broker.begin()
  const heard = await broker.heard(t, 'late')
  await story.publishPatiently('late.x', { n: count, filling: '' })
  await eventually(() => heard.some(line => line.includes(`"n":${count},`)), 'the last message')
  const numbers = heard.map(line => Number(/"n":(\d+)/.exec(line)![1]))
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  )
  assert.ok(fell > 0 && fell < count && numbers.every(n => n >= fell))
  await isWell('late')
})

test('in a batch run the node ends when the broker has the message', { skip }, async t => {
  const story = new Story(live.engine)
  const broker = await Mosquitto.start(t)
  const heard = await broker.heard(t, 'run/#')
  const send = node('send', 'mqtt-out', { url: broker.url, topic: 'run/{value}', qos: 2 }, [
    input('value', 'int', { message: 'x' }),
  ])
  await story.save('batch', flow([send], { message: 'x', dtype: 'int' }))
  const { run } = await live.engine.runs.create('batch', { inputs: { x: 5 } }, 'tests')
  await eventually(async () => !['queued', 'running'].includes((await live.engine.runs.get(run.id)).status), 'the run')
  const ended = await live.engine.runs.get(run.id)
  assert.equal(ended.status, 'succeeded', JSON.stringify(ended))
  assert.deepEqual(heard, ['run/5 5'])
})

test('settings that cannot be are refused by their place', async () => {
  const story = new Story(live.engine)
  const wrong = [
    node(
      'a',
      'mqtt-in',
      { url: 'mqtt://u:p@x', topics: ['a/#/b', 'ok'] },
      [],
      [output('value', 'json', { message: 'a' })],
    ),
    node(
      'b',
      'mqtt-in',
      { url: 'mqtt://x', topics: ['t'], payload: 'bytes', session_s: 5 },
      [],
      [output('value', 'json', { message: 'b' })],
    ),
    node('c', 'mqtt-out', { url: 'http://x', topic: 't/{who}' }, [input('value', 'json', { message: 'a' })]),
  ]
  await assert.rejects(story.save('wrong', flow(wrong)), error => {
    const places = (error as { errors: { loc: string }[] }).errors.map(({ loc }) => loc)
    assert.deepEqual(places.toSorted(), [
      'nodes[0].settings.topics[0]',
      'nodes[0].settings.url',
      'nodes[1].settings.payload',
      'nodes[1].settings.session_s',
      'nodes[2].settings.url',
    ])
    return true
  })
})

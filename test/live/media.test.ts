import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { FlowsClient } from '../kit/flows-client.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { flow, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '1' })

interface Frame {
  type: string
  name: string
  version: number
  digest: string
  media_type: string
  meta: unknown
  bytes: Buffer
}

const connect = async (t: TestContext): Promise<FlowsClient> => {
  const token = readFileSync(`${live.data_dir}/token`, 'utf8')
  const client = await FlowsClient.connect(Number(new URL(live.url).port), token)
  t.after(() => client.close())
  return client
}
const story = async (name: string): Promise<Story> => {
  const told = new Story(live.engine)
  const inputs = [
    { message: 'picture', dtype: 'image' as const },
    { message: 'sound', dtype: 'audio' as const },
    { message: 'number', dtype: 'int' as const },
  ]
  await told.save(name, flow([], ...inputs))
  return told
}
const hexOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
/** In the volatile store; answers the reference. */
function held(bytes: Buffer, meta?: object) {
  const hex = hexOf(bytes)
  assert.ok(artifacts().volatile.put(Buffer.from(hex, 'hex'), bytes))
  return {
    digest: `sha256:${hex}`,
    media_type: 'image/png',
    size: bytes.length,
    ...(meta === undefined ? {} : { meta }),
  }
}
/** The test's own hands in the store of the engine. */
const artifacts = () =>
  live.engine.artifacts as unknown as { volatile: { put(digest: Buffer, bytes: Buffer): boolean } }
const frames = (client: FlowsClient): Frame[] => client.frames('media_frame') as unknown as Frame[]
const asked = async (client: FlowsClient, ...names: string[]): Promise<string[]> => {
  const before = client.frames('media').length
  client.say({ type: 'media', names })
  await client.until(() => client.frames('media').length > before)
  return client.frames('media')[before]!['names'] as string[]
}
/** Each frame stands just ahead of the text that names its version. */
function assertAhead(client: FlowsClient): void {
  for (const [at, one] of client.received.entries()) {
    if (one['type'] !== 'media_frame') continue
    const next = client.received.slice(at + 1).find(({ name }) => name === one['name'])
    assert.deepEqual([next?.['type'], next?.['version']], ['message_value', one['version']])
  }
}

test('who asks for the media of a message gets its frames, each just ahead of the value that names it', async t => {
  const told = await story('camera')
  const [viewer, reader] = [await connect(t), await connect(t)]
  await reader.subscribe({ names: ['camera.picture'] })
  assert.deepEqual(await asked(viewer, 'camera.picture'), ['camera.picture'])
  const pictures = [1, 2, 3].map(number => Buffer.alloc(50_000, number))
  for (const [at, picture] of pictures.entries()) {
    told.publish('camera.picture', held(picture, { number: at }))
    await viewer.until(() => viewer.values('camera.picture').length === at + 1)
  }
  assert.deepEqual(
    frames(viewer).map(({ name, version, digest, media_type, meta, bytes }) => [
      name,
      version,
      digest,
      media_type,
      meta,
      bytes.equals(pictures[version - 1]!),
    ]),
    pictures.map((picture, at) => [
      'camera.picture',
      at + 1,
      `sha256:${hexOf(picture)}`,
      'image/png',
      { number: at },
      true,
    ]),
  )
  assertAhead(viewer)
  await reader.until(() => reader.values('camera.picture').length === 3)
  assert.deepEqual(frames(reader), [], 'nothing is sent that was not asked for')
})

test('who comes later gets the present frame first, and who follows already gets it alone', async t => {
  const told = await story('late')
  const picture = Buffer.from('a picture')
  told.publish('late.picture', held(picture))
  const [newcomer, follower] = [await connect(t), await connect(t)]
  await asked(newcomer, 'late.picture')
  await newcomer.until(() => newcomer.values('late.picture').length === 1)
  assert.deepEqual(frames(newcomer)[0]?.bytes, picture)
  assertAhead(newcomer)
  await follower.subscribe({ names: ['late.picture'] })
  await follower.until(() => follower.values('late.picture').length === 1)
  await asked(follower, 'late.picture')
  await follower.until(() => frames(follower).length === 1)
  assert.equal(follower.values('late.picture').length, 1)
  told.publish('late.picture', held(Buffer.from('another')))
  for (const client of [newcomer, follower]) {
    await client.until(() => client.values('late.picture').length === 2)
    assert.equal(String(frames(client).at(-1)?.bytes), 'another')
    assert.equal(frames(client).length, 2)
  }
})

test('who comes back with a version that is still the newest gets its frame alone', async t => {
  const told = await story('back')
  const picture = Buffer.from('still there')
  told.publish('back.picture', held(picture))
  const screen = await connect(t)
  screen.say({ type: 'have', versions: { 'back.picture': 1 } })
  await asked(screen, 'back.picture')
  await screen.until(() => frames(screen).length === 1)
  assert.deepEqual(frames(screen)[0]?.bytes, picture)
  told.publish('back.picture', held(Buffer.from('new')))
  await screen.until(() => screen.values('back.picture').length === 1)
  assert.deepEqual(
    screen.values('back.picture').map(({ version }) => version),
    [2],
  )
  assert.deepEqual(
    frames(screen).map(({ version }) => version),
    [1, 2],
  )
})

test('names without frames are told in one error, and the others stand; a new set replaces the old one', async t => {
  const told = await story('sets')
  const client = await connect(t)
  assert.deepEqual(await asked(client, 'sets.picture', 'sets.number', 'sets.nothing', 'no name', 'sets.sound'), [
    'sets.picture',
    'sets.sound',
  ])
  await client.until(() => client.frames('error').length === 1)
  const { problem } = client.frames('error')[0] as { problem: { code: string; detail: string } }
  assert.equal(problem.code, 'no_media')
  assert.match(problem.detail, /sets\.number, sets\.nothing, no name\./)
  told.publish('sets.sound', { ...held(Buffer.from('a sound')), media_type: 'audio/wav' })
  await client.until(() => client.values('sets.sound').length === 1)
  assert.deepEqual(await asked(client, 'sets.picture'), ['sets.picture'])
  told.publish('sets.sound', { ...held(Buffer.from('not heard')), media_type: 'audio/wav' })
  told.publish('sets.picture', held(Buffer.from('a picture')))
  await client.until(() => client.values('sets.picture').length === 1)
  assert.deepEqual(
    frames(client).map(({ bytes }) => String(bytes)),
    ['a sound', 'a picture'],
  )
  assert.equal(client.values('sets.sound').length, 1, 'what is no longer asked for is no longer followed')
  assert.deepEqual(await asked(client), [])
  told.publish('sets.picture', held(Buffer.from('unseen')))
  await client.subscribe({ names: ['sets.picture'] })
  await client.until(() => client.values('sets.picture').length === 2)
  assert.equal(frames(client).length, 2)
})

test('an artifact on the disk comes as a frame, too; what is too large or gone comes as its reference only', async t => {
  const told = await story('disk')
  const client = await connect(t)
  await asked(client, 'disk.picture')
  const stored = async (bytes: Buffer) => {
    const { digest } = await live.engine.artifacts.put(
      (async function* () {
        yield bytes
      })(),
      bytes.length,
    )
    return { digest, media_type: 'image/png' }
  }
  const picture = Buffer.alloc(600_000, 'p')
  told.publish('disk.picture', await stored(picture))
  await client.until(() => client.values('disk.picture').length === 1)
  assert.deepEqual(frames(client)[0]?.bytes, picture)
  told.publish('disk.picture', await stored(Buffer.alloc(limits.SOCKET_MEDIA_BYTES + 1)))
  told.publish('disk.picture', held(Buffer.alloc(limits.SOCKET_MEDIA_BYTES + 1, 1)))
  told.publish('disk.picture', { digest: `sha256:${'a'.repeat(64)}`, media_type: 'image/png' })
  await client.until(() => client.values('disk.picture').length === 4)
  told.publish('disk.picture', held(Buffer.from('small again')))
  await client.until(() => client.values('disk.picture').length === 5)
  assert.deepEqual(
    frames(client).map(({ version }) => version),
    [1, 5],
  )
  assert.deepEqual(
    client.values('disk.picture').map(({ version }) => version),
    [1, 2, 3, 4, 5],
  )
  assertAhead(client)
})

test('of many values at once the newest frame comes, and every value', async t => {
  const told = await story('fast')
  const client = await connect(t)
  await asked(client, 'fast.picture')
  const items = Array.from({ length: 300 }, (_, at) => ({ name: 'fast.picture', value: held(Buffer.alloc(1000, at)) }))
  live.engine.messages.publish(items)
  await client.until(() => client.values('fast.picture').length === 300)
  const versions = frames(client).map(({ version }) => version)
  assert.equal(versions.at(-1), 300)
  assert.ok(versions.length < 300, `${versions.length} frames`)
  assert.deepEqual(
    versions,
    [...versions].sort((a, b) => a - b),
  )
  assertAhead(client)
  assert.ok(told.version('fast.picture') >= 300)
})

test('a connection that reads nothing costs the others no frame, and sees the newest one when it reads again', async t => {
  const told = await story('slow')
  const [stalled, viewer] = [await connect(t), await connect(t)]
  for (const client of [stalled, viewer]) await asked(client, 'slow.picture')
  stalled.stall()
  const { fanout } = live.engine as unknown as { fanout: { counts(): { slow: number; dropped: number } } }
  let version = 0
  for (; fanout.counts().slow === 0 && version < 400; ) {
    told.publish('slow.picture', held(Buffer.alloc(100_000, version)))
    version++
    await viewer.until(() => frames(viewer).at(-1)?.version === version)
  }
  assert.equal(fanout.counts().slow, 1)
  for (let more = 0; more < 5; more++) {
    told.publish('slow.picture', held(Buffer.alloc(100_000, version)))
    version++
    await viewer.until(() => frames(viewer).at(-1)?.version === version)
  }
  assert.equal(frames(viewer).length, version, 'the viewer lost a frame')
  stalled.resume()
  await stalled.until(() => stalled.values('slow.picture').at(-1)?.version === version)
  const versions = frames(stalled).map(frame => frame.version)
  assert.equal(versions.at(-1), version)
  assert.ok(versions.length < version)
  assert.deepEqual(
    versions,
    [...versions].sort((a, b) => a - b),
  )
  assertAhead(stalled)
  await eventually(() => fanout.counts().slow === 0, 'nobody is slow')
  told.publish('slow.picture', held(Buffer.from('again')))
  await stalled.until(() => stalled.values('slow.picture').at(-1)?.version === version + 1)
  assert.equal(String(frames(stalled).at(-1)?.bytes), 'again')
  assert.equal(fanout.counts().dropped, 0)
})

test('frames that were sent and skipped are counted for each name', async t => {
  const told = await story('counted')
  const client = await connect(t)
  await asked(client, 'counted.picture')
  told.publish('counted.picture', held(Buffer.from('one')))
  await client.until(() => client.values('counted.picture').length === 1)
  told.publish('counted.picture', { digest: `sha256:${'b'.repeat(64)}`, media_type: 'image/png' })
  await client.until(() => client.values('counted.picture').length === 2)
  const token = readFileSync(`${live.data_dir}/token`, 'utf8')
  const answer = await fetch(`${live.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  const lines = (await answer.text()).split('\n').filter(line => line.includes('counted.picture'))
  assert.deepEqual(
    lines.filter(line => line.startsWith('svc_media_')),
    [
      'svc_media_frames_sent_total{message="counted.picture"} 1',
      'svc_media_frames_skipped_total{message="counted.picture"} 1',
    ],
  )
})

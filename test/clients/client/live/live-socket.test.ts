import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ClientError, followLive, type LiveSocketOptions } from '../../../../clients/client/index.ts'
import { CutProxy } from '../../../kit/cut-proxy.ts'
import { eventually, sharedEngine } from '../../../kit/live-engine.ts'
import { flow, Story } from '../../../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '1' })

/** A socket behind a connection that can be cut, and what it has told. */
async function following(t: TestContext, options: Partial<LiveSocketOptions> = {}) {
  const proxy = await CutProxy.start(t, Number(new URL(live.url).port))
  const token = readFileSync(join(live.data_dir, 'token'), 'utf8').trim()
  const values: string[] = []
  const notices: string[] = []
  let links = 0
  let answers = 0
  const socket = await followLive({
    find: () => ({ url: `http://127.0.0.1:${proxy.port}`, token }),
    onValue: ({ name, value }) => void values.push(`${name}=${value}`),
    onNotice: text => void notices.push(text),
    onLink: url => void (links += url === null ? 0 : 1),
    onFollowing: () => void answers++,
    onFailure: error => void notices.push(String(error)),
    ...options,
  })
  t.after(() => socket.close())
  await eventually(() => links === 1, 'a connection')
  const cut = async (): Promise<void> => {
    const before = links
    proxy.cut()
    await eventually(() => links > before, 'another connection')
    // What it follows is said again in several frames; a publish behind them is answered behind them.
    await socket.publish('drain.x', 0).catch(() => {})
  }
  await eventually(() => answers === 1, 'the first answer')
  /** Does it, and waits until the engine has said so many times what is followed now. */
  const heeded = async (times: number, change: () => void): Promise<void> => {
    const before = answers
    change()
    await eventually(() => answers === before + times, 'what is followed now')
  }
  return { socket, values, notices, cut, heeded }
}

async function stored(...names: string[]): Promise<Story> {
  const story = new Story(live.engine)
  for (const name of names)
    await story.save(name, flow([], { message: 'x', dtype: 'int' }, { message: 'y', dtype: 'int' }))
  return story
}

test('a socket follows more while it lives, and all of it after a reconnect', async t => {
  const story = await stored('tank', 'pump')
  const { socket, values, notices, cut, heeded } = await following(t)
  story.publish('tank.x', 1)
  await heeded(2, () => socket.follow({ names: ['tank.x', 'tank.none'], flows: ['pump'] }))
  await eventually(() => values.includes('tank.x=1'), 'the present value')
  story.publish('pump.y', 2)
  await eventually(() => values.includes('pump.y=2'), 'a value of the flow')
  await cut()
  story.publish('tank.x', 3)
  story.publish('pump.x', 4)
  await eventually(() => values.includes('tank.x=3') && values.includes('pump.x=4'), 'values after the reconnect')
  assert.deepEqual(values.toSorted(), ['pump.x=4', 'pump.y=2', 'tank.x=1', 'tank.x=3'])
  assert.deepEqual(notices, [])
})

test('what is no longer followed stays away, also after a reconnect', async t => {
  const story = await stored('left', 'kept')
  const { socket, values, cut, heeded } = await following(t)
  await heeded(3, () => socket.follow({ names: ['kept.x'], flows: ['left', 'kept'] }))
  for (const name of ['left.x', 'kept.x', 'kept.y']) story.publish(name, 1)
  await eventually(() => values.length === 3, 'values of both flows')
  await cut()
  await heeded(2, () => socket.unfollow({ flows: ['left', 'kept'] }))
  for (const again of [false, true]) {
    if (again) await cut()
    values.length = 0
    for (const name of ['left.x', 'kept.y', 'kept.x']) story.publish(name, 2)
    await eventually(() => values.length > 0, 'the value that is followed by its name')
    assert.deepEqual(values, ['kept.x=2'])
  }
})

test('a flow that is gone after a reconnect is told, and keeps no other from being followed', async t => {
  const story = await stored('gone', 'still')
  const { values, notices, cut } = await following(t, { flows: ['gone', 'still'] })
  await live.engine.flows.remove('gone', 'tests')
  await cut()
  await eventually(() => notices.some(text => text.includes('gone')), 'the notice')
  story.publish('still.x', 7)
  await eventually(() => values.includes('still.x=7'), 'a value of the other flow')
})

test('a publish is answered with its version, or refused; one that the connection takes with it is lost', async t => {
  await stored('drain')
  const { socket, cut } = await following(t)
  assert.equal(await socket.publish('drain.x', 1), 1)
  assert.equal(await socket.publish('drain.x', 2, { durable: true }), 2)

  const failed = (kind: string) => (error: unknown) => error instanceof ClientError && error.kind === kind
  await assert.rejects(socket.publish('drain.none', 1), failed('refused'))
  await assert.rejects(socket.publish('drain.x', 'text'), failed('refused'))
  const under_way = socket.publish('drain.x', 3).then(
    () => 'answered',
    error => (failed('lost')(error) ? 'lost' : String(error)),
  )
  await cut()
  assert.match(await under_way, /^(answered|lost)$/)
  socket.close()
  await assert.rejects(socket.publish('drain.x', 4), failed('unreached'))
})

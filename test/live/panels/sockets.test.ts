import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowsClient } from '../../kit/flows-client.ts'
import { liveEngine } from '../../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../../kit/live-story.ts'
import { PanelStory, tile } from '../../kit/panel-story.ts'

const inputs = (...names: string[]) => names.map(message => ({ message, dtype: 'float' as const }))
const shows = (...messages: string[]) => messages.map((message, at) => tile(`t${at}`, 'value', { message }))
const last = (socket: FlowsClient, type: string): Record<string, unknown> | undefined => socket.frames(type).at(-1)

test('a saved dashboard takes names from open sockets and tells them; the new ones may be followed at once', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  const flows = new Story(live.engine)
  await flows.save('hall', flow([], ...inputs('a', 'b', 'c')))
  await story.dashboard('entrance', shows('hall.a', 'hall.b'))
  const { id } = await story.panel('wall', 'entrance')
  const screen = await story.pair(id)
  const socket = await screen.socket()
  await socket.subscribe({ names: ['hall.a', 'hall.b'] })
  await story.dashboard('entrance', shows('hall.a', 'hall.c'))
  await socket.until(() => last(socket, 'panel_changed') !== undefined)
  assert.deepEqual(last(socket, 'panel_changed'), {
    type: 'panel_changed',
    lost: ['hall.b'],
    dashboards: [{ name: 'entrance', version: 2 }],
  })
  flows.publish('hall.b', 1)
  assert.equal((await socket.subscribe({ names: ['hall.c'] }))['type'], 'subscribed')
  flows.publish('hall.c', 2)
  await socket.until(() => socket.values('hall.c').length > 0)
  assert.deepEqual(socket.values('hall.b'), [])
  socket.say({ type: 'subscribe', names: ['hall.b'] })
  socket.say({ type: 'have', versions: { 'hall.b': 1 } })
  await socket.until(() => socket.frames('error').length === 2)
  assert.deepEqual(
    new Set(socket.frames('error').map(({ problem }) => (problem as { code: string }).code)),
    new Set(['forbidden']),
  )
})

test('a screen follows a message that comes later, and one that comes back', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  const flows = new Story(live.engine)
  await story.dashboard('entrance', shows('hall.a'))
  const screen = await story.pair((await story.panel('wall', 'entrance')).id)
  const socket = await screen.socket()
  assert.deepEqual((await socket.subscribe({ names: ['hall.a'] }))['names'], [])
  await socket.until(() => last(socket, 'source')?.['code'] === 'message_not_found')
  await flows.save('hall', flow([], ...inputs('a')))
  flows.publish('hall.a', 1)
  await socket.until(() => socket.values('hall.a').length === 1 && last(socket, 'source')?.['status'] === 'ok')
  await flows.save('hall', flow([], ...inputs('b')))
  await socket.until(() => last(socket, 'source')?.['status'] === 'down')
  await flows.save('hall', flow([], ...inputs('a')))
  await socket.until(() => last(socket, 'source')?.['status'] === 'ok')
  flows.publish('hall.a', 2)
  await socket.until(() => socket.values('hall.a').some(({ value }) => value === 2))
})

test('a screen hears that the source of what it follows is down, and nothing of other nodes', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  const flows = new Story(live.engine)
  const source = `export default ({ x }, ctx) => {
    if (x === 3) throw new Error('a secret of the node')
    ctx.report(x === 1 ? 'down' : 'ok', 'no frame from 10.0.0.7')
    return { y: x }
  }`
  const node = (name: string) =>
    code(name, source, [input('x', 'float', { message: `${name}in` })], [output('y', 'float', { message: name })])
  await flows.save('hall', flow([node('mine'), node('theirs')], ...inputs('minein', 'theirsin')))
  await story.dashboard('entrance', shows('hall.mine'))
  const screen = await story.pair((await story.panel('wall', 'entrance')).id)
  const socket = await screen.socket()
  await socket.subscribe({ names: ['hall.mine'] })
  flows.publish('hall.theirsin', 1)
  flows.publish('hall.minein', 1)
  await socket.until(() => last(socket, 'source')?.['code'] === 'node_down')
  flows.publish('hall.minein', 3)
  flows.publish('hall.theirsin', 3)
  flows.publish('hall.minein', 0)
  await socket.until(() => last(socket, 'source')?.['status'] === 'ok')
  flows.publish('hall.minein', 3)
  await socket.until(() => last(socket, 'source')?.['code'] === 'node_error')
  const again = await screen.socket()
  await again.subscribe({ names: ['hall.mine'] })
  await again.until(() => last(again, 'source')?.['code'] === 'node_error')
  assert.deepEqual(Object.keys(last(again, 'source')!), ['type', 'name', 'status', 'code', 'since'])
  const told = JSON.stringify([socket.received, again.received])
  assert.doesNotMatch(told, /theirs|10\.0\.0\.7|secret of/)
})

test('a panel that floods with what it may not is cut off, and its rights are as before', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  await new Story(live.engine).save('hall', flow([], ...inputs('a', 'b')))
  await story.dashboard('entrance', shows('hall.a'))
  const screen = await story.pair((await story.panel('wall', 'entrance')).id)
  const socket = await screen.socket()
  for (let at = 0; at < 300; at++) socket.say({ type: 'publish', id: at, name: 'hall.b', value: 1 })
  await socket.until(() => socket.closed !== null)
  assert.equal(socket.closed?.code, 1008)
  assert.equal((await live.engine.messages.get('hall.b')).version, 0)
  const again = await screen.socket()
  assert.deepEqual((await again.subscribe({ names: ['hall.a'] }))['names'], ['hall.a'])
})

test('after a reconnect a screen says what it has, and gets what is newer, with its time', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  const flows = new Story(live.engine)
  await flows.save('hall', flow([], ...inputs('a', 'b')))
  await story.dashboard('entrance', shows('hall.a', 'hall.b'))
  const screen = await story.pair((await story.panel('wall', 'entrance')).id)
  for (const value of [1, 2, 3]) flows.publish('hall.a', value)
  flows.publish('hall.b', 1)
  const socket = await screen.socket()
  socket.say({ type: 'have', versions: { 'hall.a': 1, 'hall.b': 1 } })
  await socket.until(() => socket.values('hall.a').length > 0)
  assert.deepEqual(socket.values('hall.a'), [{ version: 3, value: 3, missed: 1 }])
  assert.deepEqual(socket.values('hall.b'), [])
  assert.match(String(socket.frames('message_value')[0]!['ts']), /^\d{4}-\d\d-\d\dT[\d:.]{15}\+00:00$/)
})

test('frames of a camera end with the tile that shows it', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  const flows = new Story(live.engine)
  await flows.save('hall', flow([], { message: 'cam', dtype: 'image' }, ...inputs('a')))
  const headers = { authorization: `Bearer ${story.admin.token}`, 'content-type': 'image/png' }
  const answer = await fetch(`${live.url}/artifacts`, { method: 'PUT', headers, body: 'a picture' })
  const picture = await answer.json()
  await story.dashboard('entrance', [tile('cam', 'image', { message: 'hall.cam' })])
  const screen = await story.pair((await story.panel('wall', 'entrance')).id)
  const socket = await screen.socket()
  socket.say({ type: 'media', names: ['hall.cam'] })
  flows.publish('hall.cam', picture)
  await socket.until(() => socket.frames('media_frame').length === 1)
  await story.dashboard('entrance', shows('hall.a'))
  await socket.until(() => last(socket, 'panel_changed') !== undefined)
  assert.deepEqual(last(socket, 'panel_changed')?.['lost'], ['hall.cam'])
  await socket.subscribe({ names: ['hall.a'] })
  flows.publish('hall.cam', picture)
  flows.publish('hall.a', 1)
  await socket.until(() => socket.values('hall.a').length === 1)
  assert.deepEqual([socket.frames('media_frame').length, socket.values('hall.cam').length], [1, 1])
})

test('a screen counts as connected while its socket is open; a panel that is removed ends it', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  await story.dashboard('entrance', [])
  const { id } = await story.panel('wall', 'entrance')
  const socket = await (await story.pair(id)).socket()
  await socket.subscribe({ names: [] })
  assert.equal((await story.admin.gets('GET', `/panels/${id}`)).connected, 1)
  assert.equal(await story.admin.tries('DELETE', `/panels/${id}`), 204)
  await socket.until(() => socket.closed !== null)
  assert.equal(socket.closed?.code, 4401)
})

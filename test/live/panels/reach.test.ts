import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, liveEngine } from '../../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../../kit/live-story.ts'
import { PanelStory, tile } from '../../kit/panel-story.ts'

const inputs = (dtype: 'bool' | 'json' | 'float' | 'image', ...names: string[]) =>
  names.map(message => ({ message, dtype }))

test('a lock follows its message live, and what is no bool closes it; a querying chart asks all the same', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  const flows = new Story(live.engine)
  await flows.save('hall', flow([], ...inputs('json', 'lock', 'lamp', 'query', 'answer')))
  const tiles = [
    tile('lamp', 'button', { publish: 'hall.lamp', value: 1 }),
    tile('asks', 'query-chart', { publish: 'hall.query', message: 'hall.answer' }),
  ]
  await story.dashboard('entrance', tiles, { message: 'hall.lock' })
  const screen = await story.pair((await story.panel('wall', 'entrance')).id)
  const socket = await screen.socket()
  const both = async (): Promise<unknown[]> => {
    const frame = await socket.publish('hall.lamp', 1)
    const { is_locked } = await screen.gets('GET', '/dashboards/entrance')
    assert.equal(await screen.tries('POST', '/messages/hall.query', { value: {} }), 202)
    return [await screen.tries('POST', '/messages/hall.lamp', { value: 1 }), frame['type'], is_locked]
  }
  const [open, closed] = [
    [202, 'ack', false],
    ['forbidden', 'error', true],
  ]
  assert.deepEqual(await both(), closed, 'no value')
  for (const [value, expected] of [
    [false, open],
    [true, closed],
    [false, open],
    [0, closed],
    ['', closed],
    [null, closed],
    [{ locked: false }, closed],
    ['x'.repeat(100_000), closed],
    [false, open],
  ] as const) {
    flows.publish('hall.lock', value)
    assert.deepEqual(await both(), expected, JSON.stringify(value).slice(0, 40))
  }
  assert.equal(await screen.tries('GET', '/messages/hall.lock'), 200)
  await flows.save('hall', flow([], ...inputs('json', 'lamp', 'query', 'answer')))
  assert.deepEqual(await both(), closed, 'no message')
})

test('a screen fetches what its image tiles show now, and showed a moment ago, and no other bytes', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  const flows = new Story(live.engine)
  await flows.save('hall', flow([], ...inputs('image', 'cam', 'vault')))
  const digests: string[] = []
  for (const text of ['one', 'two', 'three']) {
    const headers = { authorization: `Bearer ${story.admin.token}`, 'content-type': 'image/png' }
    const answer = await fetch(`${live.url}/artifacts`, { method: 'PUT', headers, body: text })
    const { digest } = (await answer.json()) as { digest: string }
    digests.push(digest)
  }
  const [one, two, three] = digests as [string, string, string]
  const show = (name: string, digest: string) => flows.publish(name, { digest, media_type: 'image/png' })
  show('hall.cam', one)
  show('hall.vault', three)
  await story.dashboard('entrance', [tile('cam', 'image', { message: 'hall.cam' })])
  const screen = await story.pair((await story.panel('wall', 'entrance')).id)
  const fetches = (digest: string) => screen.tries('GET', `/artifacts/${digest}?media_type=image/png`)
  assert.deepEqual([await fetches(one), await fetches(two), await fetches(three)], [200, 'forbidden', 'forbidden'])
  assert.equal(await screen.tries('GET', `/artifacts/${one.slice(0, 20)}`), 'forbidden')
  show('hall.cam', two)
  await eventually(async () => (await fetches(two)) === 200, 'the newest picture may be fetched')
  assert.deepEqual([await fetches(one), await fetches(three)], [200, 'forbidden'])
  const socket = await screen.socket()
  socket.say({ type: 'media', names: ['hall.cam', 'hall.vault'] })
  await socket.until(() => socket.frames('media_frame').length > 0 && socket.frames('media').length > 0)
  assert.deepEqual(socket.frames('media')[0]!['names'], ['hall.cam'])
  show('hall.vault', one)
  show('hall.cam', three)
  await socket.until(() => socket.frames('media_frame').length === 2)
  assert.deepEqual(new Set(socket.frames('media_frame').map(({ name }) => name)), new Set(['hall.cam']))
})

test('a refusal to a screen names nothing that it does not show', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  await new Story(live.engine).save('hall', flow([], ...inputs('json', 'lampe')))
  await story.dashboard('entrance', [
    tile('lamp', 'switch', { publish: 'hall.lamp' }),
    tile('hall', 'value', { message: 'hal.lamb' }),
  ])
  const screen = await story.pair((await story.panel('wall', 'entrance')).id)
  const socket = await screen.socket()
  const told = [
    await screen.ask('GET', '/messages/hall.lamp'),
    await screen.ask('GET', '/messages/hal.lamb/history'),
    await screen.ask('POST', '/messages/hall.lamp', { value: 1 }),
    await screen.ask('POST', '/messages/', { name: 'hall.lamp', value: 1 }),
    await socket.publish('hall.lamp', 1),
  ]
  assert.doesNotMatch(JSON.stringify(told), /lampe|Did you mean/)
  assert.match(JSON.stringify(await story.admin.ask('GET', '/messages/hall.lamp')), /Did you mean/)
})

test('the rename of a flow takes the dashboards, the panel and its sockets along', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  const flows = new Story(live.engine)
  const lamp = code(
    'lamp',
    'export default ({ on }) => ({ light: on })',
    [input('on', 'bool', { message: 'on' })],
    [output('light', 'bool', { message: 'light' })],
  )
  await flows.save('hall', flow([lamp], ...inputs('bool', 'on', 'lock')))
  flows.publish('hall.lock', false)
  const tiles = [tile('a', 'switch', { publish: 'hall.on', message: 'hall.light' })]
  await story.dashboard('entrance', tiles, { message: 'hall.lock' })
  const screen = await story.pair((await story.panel('wall', 'entrance')).id)
  const socket = await screen.socket()
  await socket.subscribe({ names: ['hall.light'] })
  assert.equal(await story.admin.tries('POST', '/flows/hall/rename', { to: 'lobby' }), 200)
  await socket.until(() => socket.frames('panel_changed').length > 0)
  assert.deepEqual(socket.frames('panel_changed')[0]!['lost'], ['hall.light'])
  const { document, version } = await screen.gets('GET', '/dashboards/entrance')
  assert.deepEqual(document.tiles[0].settings, { publish: 'lobby.on', message: 'lobby.light' })
  assert.deepEqual([document.locked, version], [{ message: 'lobby.lock' }, 2])
  await socket.subscribe({ names: ['lobby.light'] })
  assert.equal((await socket.publish('lobby.on', true))['type'], 'ack')
  await socket.until(() => socket.values('lobby.light').length > 0)
  assert.equal(await screen.tries('POST', '/messages/hall.on', { value: true }), 'forbidden')
})

test('panels, their screens and what they may do outlive a restart of the engine', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  await new Story(live.engine).save('hall', flow([], ...inputs('bool', 'on', 'off')))
  await story.dashboard('entrance', [tile('a', 'switch', { publish: 'hall.on' })])
  const [kept, unpaired] = [await story.panel('kept', 'entrance'), await story.panel('unpaired', 'entrance')]
  const [screen, other] = [await story.pair(kept.id), await story.pair(unpaired.id)]
  assert.equal(await story.admin.tries('POST', `/panels/${unpaired.id}/unpair`), 204)
  const later = await live.restart()
  const again = (token: string | null) => new PanelStory(later).as(token)
  assert.equal(await again(screen.token).tries('POST', '/messages/hall.on', { value: true }), 202)
  assert.equal(await again(screen.token).tries('POST', '/messages/hall.off', { value: true }), 'forbidden')
  assert.equal(await again(other.token).tries('GET', '/panels/me'), 'unauthenticated')
})

test('screens of one panel do nothing of what another panel does', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  await new Story(live.engine).save('hall', flow([], ...inputs('bool', 'mine', 'theirs')))
  const screens = []
  for (const name of ['mine', 'theirs']) {
    await story.dashboard(name, [tile('a', 'switch', { publish: `hall.${name}` })])
    screens.push(await story.pair((await story.panel(name, name)).id))
  }
  const sockets = await Promise.all(screens.map(screen => screen.socket()))
  assert.equal((await sockets[0]!.publish('hall.theirs', true))['type'], 'error')
  assert.equal((await sockets[1]!.publish('hall.theirs', true))['type'], 'ack')
  assert.equal(await screens[0]!.tries('GET', '/dashboards/theirs'), 'forbidden')
  assert.equal(await screens[0]!.tries('GET', '/messages/hall.theirs'), 'forbidden')
  sockets[0]!.say({ type: 'subscribe', names: ['hall.mine', 'hall.theirs'] })
  await sockets[0]!.until(() => sockets[0]!.frames('error').length === 2)
  assert.deepEqual(sockets[0]!.frames('subscribed'), [])
  assert.deepEqual(sockets[0]!.values('hall.theirs'), [])
})

test('who may not publish lets no screen in, and a viewer changes no dashboard', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  await story.dashboard('entrance', [])
  const { id } = await story.panel('wall', 'entrance')
  const { code: pairing } = await story.nobody.gets('POST', '/panels/pairings')
  const client = async (...scopes: string[]) =>
    story.as((await story.admin.gets('POST', '/clients', { name: scopes.join('-'), scopes })).token)
  const editor = await client('read', 'edit')
  assert.equal(await editor.tries('POST', `/panels/${id}/approve`, { code: pairing }), 'forbidden')
  const viewer = await client('read')
  assert.equal(
    await viewer.tries('PUT', '/dashboards/entrance', { document: { locked: false, tiles: [] } }),
    'forbidden',
  )
  assert.equal(await viewer.tries('GET', '/dashboards/entrance'), 200)
  assert.equal(await viewer.tries('GET', '/panels/me'), 'panel_not_found')
  const both = await client('edit', 'publish')
  assert.equal(await both.tries('POST', `/panels/${id}/approve`, { code: pairing }), 204)
})

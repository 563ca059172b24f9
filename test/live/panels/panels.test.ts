import assert from 'node:assert/strict'
import { test } from 'node:test'
import { liveEngine } from '../../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../../kit/live-story.ts'
import { PanelStory, tile } from '../../kit/panel-story.ts'

const hall = flow(
  [
    code(
      'lamp',
      'export default ({ lamp }) => ({ light: lamp ? 100 : 0 })',
      [input('lamp', 'bool', { message: 'lamp' })],
      [output('light', 'float', { message: 'light' })],
    ),
  ],
  { message: 'lamp', dtype: 'bool' },
  { message: 'safe', dtype: 'json' },
  { message: 'night', dtype: 'bool' },
)
const TILES = [
  tile('light', 'value', { message: 'hall.light' }),
  tile('on', 'button', { publish: 'hall.lamp', value: true }),
]

test('a screen is paired, reads what its tiles draw and publishes what its controls point at, and nothing else', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  await new Story(live.engine).save('hall', hall)
  await story.dashboard('entrance', TILES)
  await story.dashboard('office', [])
  const { id } = await story.panel('wall', 'entrance')
  const screen = await story.pair(id)
  assert.deepEqual(await screen.gets('GET', '/panels/me'), {
    id,
    name: 'wall',
    dashboards: [{ name: 'entrance', version: 1 }],
  })
  const shown = await screen.gets('GET', '/dashboards/entrance')
  assert.deepEqual(Object.keys(shown), ['name', 'version', 'document', 'is_locked'])
  assert.equal(await screen.tries('POST', '/messages/hall.lamp', { value: true }), 202)
  assert.equal(await screen.tries('GET', '/messages/hall.light'), 200)
  assert.equal(await screen.tries('GET', '/messages/hall.light/history'), 200)
  for (const [method, path, body] of [
    ['GET', '/messages/hall.lamp'],
    ['GET', '/messages/hall.safe'],
    ['GET', '/messages/hall.lamp/history'],
    ['POST', '/messages/hall.light', { value: 1 }],
    ['POST', '/messages/hall.safe', { value: 1 }],
    [
      'POST',
      '/messages/',
      [
        { name: 'hall.lamp', value: true },
        { name: 'hall.safe', value: 1 },
      ],
    ],
    ['GET', '/messages'],
    ['GET', '/dashboards/office'],
    ['GET', '/dashboards'],
    ['GET', '/dashboards/entrance/history'],
    ['PUT', '/dashboards/entrance', { document: { locked: false, tiles: [] } }],
    ['GET', '/panels'],
    ['GET', `/panels/${id}`],
    ['POST', `/panels/${id}/unpair`],
    ['GET', '/events'],
    ['GET', '/flows'],
    ['GET', '/users/me'],
    ['GET', '/artifacts'],
    ['GET', `/artifacts/sha256:${'0'.repeat(64)}`],
  ] as const)
    assert.equal(await screen.tries(method, path, body), 'forbidden', `${method} ${path}`)
})

test('the socket of a screen follows what its tiles draw; unpaired, the screen is refused and its socket closes', async t => {
  const live = await liveEngine(t)
  const story = new PanelStory(live)
  await new Story(live.engine).save('hall', hall)
  await story.dashboard('entrance', TILES)
  const { id } = await story.panel('wall', 'entrance')
  const screen = await story.pair(id)
  const socket = await screen.socket()
  assert.equal((await socket.subscribe({ names: ['hall.light'] }))['type'], 'subscribed')
  assert.equal((await socket.publish('hall.lamp', true))['type'], 'ack')
  await socket.until(() => socket.values('hall.light').some(({ value }) => value === 100))
  assert.equal((await socket.publish('hall.light', 1))['type'], 'error')
  assert.equal(await story.admin.tries('POST', `/panels/${id}/unpair`), 204)
  assert.equal(await screen.tries('GET', '/panels/me'), 'unauthenticated')
  await socket.until(() => socket.closed !== null)
  assert.equal(socket.closed?.code, 4401)
  assert.equal((await story.admin.gets('GET', `/panels/${id}`)).paired, false)
  const again = await story.pair(id)
  assert.equal(await again.tries('GET', '/panels/me'), 200)
})

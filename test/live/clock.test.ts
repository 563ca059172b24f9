import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { parseTime } from '../../protocol/time.ts'
import type { LiveEngine as Whole } from '../../server/live-engine.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, inject, input, output, Story } from '../kit/live-story.ts'
import { pieces } from '../kit/stored-artifacts.ts'

/** The machine's clock, which the tests set. */
let ahead_ms = 0
const HOUR_MS = 3_600_000
const live = sharedEngine({}, {}, () => Date.now() + ahead_ms)
const engine = (): Whole => live.engine as unknown as Whole

/** Sets the machine's clock, and waits for the engine to follow it. */
async function setClock(by_ms: number): Promise<void> {
  ahead_ms += by_ms
  const follows = () => Math.abs(engine().front.clock.now_us() / 1000 - (Date.now() + ahead_ms)) < HOUR_MS / 2
  await eventually(follows, 'the engine has followed the clock')
}

const ts_us = (story: Story, name: string): number => parseTime(story.engine.messages.get(name).updated_at!)!
const beat = flow([
  inject('n', { every_s: 0.02, value: 1 }, output('n', 'int')),
  code('plus', 'export default ({ n }) => ({ y: n + 1 })', [input('n', 'int')], [output('y', 'int')]),
])

for (const [name, by_ms] of [
  ['back', -HOUR_MS],
  ['forward', HOUR_MS],
] as const) {
  test(`a clock that is set ${name} by an hour stops no interval, times follow it on every thread, and an event tells`, async () => {
    const story = new Story(live.engine)
    await story.save(name, beat)
    await story.reaches(`${name}.y`, 3)
    const before = { inject: ts_us(story, `${name}.n`), lane: ts_us(story, `${name}.y`), told: (await jumps()).length }
    await setClock(by_ms)
    await story.reaches(`${name}.y`, story.version(`${name}.y`) + 5)
    for (const [message, was] of [
      ['n', before.inject],
      ['y', before.lane],
    ] as const) {
      const moved_ms = (ts_us(story, `${name}.${message}`) - was) / 1000
      assert.ok(Math.abs(moved_ms - by_ms) < HOUR_MS / 2, `the time of ${message} moved by ${moved_ms} ms`)
    }
    await eventually(async () => (await jumps()).length > before.told, 'the event is kept')
    const { by_s, from, to } = (await jumps())[0] as unknown as { by_s: number; from: string; to: string }
    assert.ok(Math.abs(by_s * 1000 - by_ms) < HOUR_MS / 2)
    assert.equal(Math.round((parseTime(to)! - parseTime(from)!) / 1e6), Math.round(by_s))
  })
}

test('the history of a message goes by its versions over a clock that was set back, and its newest values come first', async () => {
  const story = new Story(live.engine)
  await story.save('told', beat)
  await story.reaches('told.y', 3)
  await setClock(-HOUR_MS)
  const since = story.version('told.y')
  await story.reaches('told.y', since + 5)
  await live.engine.flows.setEnabled('told', false, 'tests')
  const versions = async (limit: number) => {
    const { items } = await live.engine.messages.history('told.y', {
      since_us: null,
      until_us: null,
      limit,
      bucket_s: null,
    })
    return items.map(item => ('version' in item ? item.version : null))
  }
  await eventually(async () => (await versions(1))[0] === story.version('told.y'), 'the newest value is read')
  const last = story.version('told.y')
  assert.deepEqual(await versions(3), [last - 2, last - 1, last])
  assert.deepEqual(
    await versions(10_000),
    Array.from({ length: last }, (_, n) => n + 1),
  )
})

/** What was told, the newest first. */
async function jumps() {
  const page = { limit: 100, offset: 0, flow: null, type: 'clock_changed', since_us: null, until_us: null }
  return (await live.engine.observe.events(page)).items
}

test('a port with rate_hz lets values through after the clock was set back, as before', async () => {
  const story = new Story(live.engine)
  const often = code(
    'often',
    'export default ({ n }) => ({ y: n })',
    [input('n', 'int')],
    [{ ...output('y', 'int'), rate_hz: 20 }],
  )
  await story.save('limited', flow([inject('n', { every_s: 0.005, value: 1 }, output('n', 'int')), often]))
  await story.reaches('limited.y', 3)
  await setClock(-HOUR_MS)
  await story.reaches('limited.y', story.version('limited.y') + 3)
})

test('a sweep after the clock was set forward by two hours keeps what was stored a moment ago, on the next engine too', async () => {
  const { digest } = await live.engine.artifacts.put(pieces(Buffer.from('just stored')), 11)
  await setClock(2 * HOUR_MS)
  for (const which of ['this one', 'the next one']) {
    const { removed, spared } = await live.engine.artifacts.sweep()
    assert.deepEqual([removed, spared], [0, 1], which)
    if (which === 'this one') Object.assign(live, await live.restart())
  }
  assert.equal((await live.engine.artifacts.list({ limit: 1, offset: 0 })).items[0]!.digest, digest)
})

const signIn = (name: string): Promise<Response> =>
  fetch(`${live.url}/login/access-token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: name, password: 'wrong-password' }),
  })

test('an address that failed too often to sign in is not let in by a clock that was set', async () => {
  let refused: Response
  do refused = await signIn('nobody')
  while (refused.status === 401)
  assert.equal(refused.status, 429)
  await setClock(24 * HOUR_MS)
  assert.equal((await signIn('nobody')).status, 429)
  await setClock(-48 * HOUR_MS)
  refused = await signIn('nobody')
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers.get('retry-after')) <= limits.LOGIN_WINDOW_MS / 1000)
})

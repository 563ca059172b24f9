import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { flow, inject, output, Story } from '../kit/live-story.ts'

const live = sharedEngine()
const beats = (settings: Record<string, unknown>) => inject('beat', settings, output('y', 'int'))
const PAGE = { limit: 100, offset: 0 }

const fires = async (story: Story, node: string) => (await story.engine.nodes.fires(node, PAGE)).items
const reasons = async (story: Story, node: string) => (await fires(story, node)).map(({ reason }) => reason)

test('what an inject publishes at a high rate is one row, whose count goes up', async () => {
  const story = new Story(live.engine)
  await story.save('fast', flow([beats({ every_s: 0.005, value: 1 })]))
  await story.reaches('fast.y', 20)
  await eventually(async () => {
    const row = (await fires(story, 'fast.beat')).find(({ status }) => status === 'fired')
    return row !== undefined && row.count >= 20
  }, 'twenty are on record')
  const rows = (await fires(story, 'fast.beat')).filter(({ status }) => status === 'fired')
  assert.equal(rows.length, 1)
  assert.ok(rows[0]!.scheduled_at < rows[0]!.last_scheduled_at)
})

test('a disabled flow skips its times, with the reason, and catches up once where it is to', async () => {
  const story = new Story(live.engine)
  await story.save('paused', flow([beats({ every_s: 0.05, catch_up: 'once', value: 1 })]))
  await story.save('skips', flow([beats({ every_s: 0.05, value: 1 })]))
  for (const name of ['paused', 'skips']) {
    await story.reaches(`${name}.y`, 2)
    await live.engine.flows.setEnabled(name, false, 'tests')
  }
  await new Promise(resolve => setTimeout(resolve, 200))
  for (const name of ['paused', 'skips']) await live.engine.flows.setEnabled(name, true, 'tests')
  for (const name of ['paused', 'skips'])
    await eventually(async () => (await reasons(story, `${name}.beat`)).includes('flow_disabled'), 'they are on record')
  assert.ok((await reasons(story, 'paused.beat')).includes('catch_up'))
  assert.ok(!(await reasons(story, 'skips.beat')).includes('catch_up'))
})

test('what an engine that was down missed is on record after its start', async t => {
  const first = await liveEngine(t)
  const before = new Story(first.engine)
  await before.save('down', flow([beats({ every_s: 0.05, value: 1 })]))
  await before.reaches('down.y', 3)
  const { engine } = await first.restart()
  const story = new Story(engine)
  await eventually(async () => (await reasons(story, 'down.beat')).includes('engine_down'), 'they are on record')
  const rows = await fires(story, 'down.beat')
  const missed = rows.find(({ reason }) => reason === 'engine_down')!
  assert.equal(missed.status, 'skipped')
  const earlier = rows.filter(row => row.status === 'fired' && row.scheduled_at < missed.scheduled_at)
  assert.ok(earlier.length > 0 && earlier[0]!.last_scheduled_at < missed.scheduled_at)
})

test('the record goes with the flow, and moves with its name', async () => {
  const story = new Story(live.engine)
  await story.save('named', flow([beats({ once: true, value: 1 })]))
  await eventually(async () => (await fires(story, 'named.beat')).length === 1, 'it is on record')
  await live.engine.flows.rename('named', 'renamed', 'tests')
  await eventually(async () => (await fires(story, 'renamed.beat')).length >= 1, 'it has moved')
  await live.engine.flows.remove('renamed', 'tests')
  await story.save('renamed', flow([beats({ every_s: 3600, value: 1 })]))
  assert.deepEqual(await fires(story, 'renamed.beat'), [])
})

test('a time of day that comes again at the end of summer time is on record as skipped', async t => {
  // 25 October 2026: at 3 o'clock it becomes 2 in Berlin.
  const aheadAt = (minute: number, second: number): number => Date.UTC(2026, 9, 25, 0, minute, second) - Date.now()
  let ahead_ms = aheadAt(0, 0)
  const { engine } = await liveEngine(t, { TZ: 'Europe/Berlin' }, {}, () => Date.now() + ahead_ms)
  const story = new Story(engine)
  await story.save('autumn', flow([beats({ cron: '30 2 * * *', value: 1 })]))
  ahead_ms = aheadAt(29, 57)
  await story.reaches('autumn.y', 1)
  await eventually(async () => (await reasons(story, 'autumn.beat')).includes('time_repeated'), 'it is on record')
  const rows = await fires(story, 'autumn.beat')
  assert.deepEqual(
    rows.map(({ status, scheduled_at }) => [status, scheduled_at.slice(0, 16)]),
    [
      ['skipped', '2026-10-25T01:30'],
      ['fired', '2026-10-25T00:30'],
    ],
  )
})

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { age, bar, milliseconds, perSecond, waitTime, zeroLine } from '../../../clients/terminal/draw/figures.ts'
import {
  hearActivity,
  hearEvent,
  LOG_KEPT,
  listFlows,
  newEngineState,
} from '../../../clients/terminal/state/engine-state.ts'
import { logText } from '../../../clients/terminal/state/log-text.ts'
import { orderedFlows } from '../../../clients/terminal/state/order.ts'
import { waitsOf } from '../../../clients/terminal/state/waits.ts'
import { runRows } from '../../../clients/terminal/view.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { FlowActivity } from '../../../protocol/socket/activity.ts'
import { boilerHouse } from '../../kit/boiler-house.ts'

const activity = (flow: string, per_s: number, more: Partial<FlowActivity> = {}): FlowActivity => ({
  ...{ flow, per_s, p99_s: null, waiting: 0, share: 0, down: 0, errors: 0 },
  ...more,
})
const frame = (...flows: FlowActivity[]) =>
  ({ type: 'activity', ts: '', per_s: 7, cascades: { in_flight: 1, limit: 9 }, flows }) as const
const listed = (...names: string[]) =>
  names.map(name => ({ name, enabled: true, updated_by: 'ada', nodes: 1, issues: [] })) as never

describe('what is known of an engine', () => {
  test('is what was listed with the newest figures, and a list keeps them', () => {
    const state = newEngineState('http://127.0.0.1:1', '')
    listFlows(state, listed('boiler', 'tank'))
    assert.ok(!hearActivity(state, frame(activity('boiler', 5, { last_minute: [1, 2] }), activity('tank', 6)), 100))
    assert.ok(!hearActivity(state, frame(activity('boiler', 8)), 200))
    listFlows(state, listed('boiler', '__proto__'))
    const { boiler } = state.flows
    assert.deepEqual([boiler!.activity!.per_s, boiler!.line, state.heard_ms], [8, [1, 2], 200])
    assert.deepEqual(Object.keys(state.flows), ['boiler', '__proto__'])
  })

  test('is out of date when a flow comes that was not listed, or the trouble of one is another', () => {
    const state = newEngineState('http://127.0.0.1:1', '')
    listFlows(state, listed('boiler'))
    assert.ok(hearActivity(state, frame(activity('new', 1)), 1))
    assert.ok(hearActivity(state, frame(activity('boiler', 1, { errors: 1 })), 2))
    assert.ok(!hearActivity(state, frame(activity('boiler', 2, { errors: 1 })), 3))
    assert.ok(hearActivity(state, frame(activity('boiler', 2)), 4))
  })

  test('keeps a bounded log, however much comes in', () => {
    const state = newEngineState('http://127.0.0.1:1', '')
    for (let at = 0; at < 20 * LOG_KEPT; at++)
      hearEvent(state, { type: 'node_log', ts: '', flow: 'a', run: null, text: String(at) } as EngineEvent)
    hearEvent(state, { type: 'run_metric', ts: '', flow: 'a', run: 'x' } as EngineEvent)
    assert.ok(state.log.length <= 2 * LOG_KEPT)
    assert.equal(state.log.at(-1)!['text'], String(20 * LOG_KEPT - 1))
    assert.equal(state.logged, 20 * LOG_KEPT)
  })
})

test('flows of like rates keep the order of their names while the rates tremble', () => {
  const state = newEngineState('http://127.0.0.1:1', '')
  listFlows(state, listed('b', 'a', 'c'))
  const order = (a: number, b: number, c: number): string => {
    hearActivity(state, frame(activity('a', a), activity('b', b), activity('c', c)), 1)
    return orderedFlows(state, 'need', '')
      .map(({ name }) => name)
      .join('')
  }
  assert.equal(order(100, 101, 1), 'abc')
  assert.equal(order(101, 100, 1), 'abc')
  assert.equal(order(1, 200, 30), 'bca')
})

test('a run waits for cards that others hold, for a place, or for a worker that is not there', () => {
  const { runs, resources } = boilerHouse()
  const sentence = (of: ReturnType<typeof waitsOf>[number]): string => `${of.what}: ${of.why}`
  assert.deepEqual(waitsOf(runs, resources).map(sentence), ['1 card: gpu-1 0 by 7c1e, 1 by a9d0'])
  const queued = { ...runs[0]!, id: '0190f3c2-7b1e-7cc3-98c4-dc0c0c07ffff', status: 'queued' as const }
  assert.deepEqual(waitsOf([queued], { ...resources!, waiting: [] }).map(sentence), [
    'a place to run: 4 of 4 are taken',
  ])
  const [waiting] = resources!.waiting
  const labelled = { ...resources!, waiting: [{ ...waiting!, device: 'oven' }] }
  assert.deepEqual(waitsOf([], labelled).map(sentence), ['a worker labelled oven: none is attached'])
  const needs = { cpus: 4, gpus: null, ram_mb: null, flavor: null }
  const cores = { ...resources!, waiting: [{ ...waiting!, needs, position: 2 }] }
  assert.deepEqual(waitsOf([], cores).map(sentence), [
    '4 cores: local has 9 free, gpu-1 has 8 free, position 2 in line',
  ])
})

test('a run that only waits stands among those that wait, one that also works among both', () => {
  const house = boilerHouse()
  const waiting = { ...house.runs[0]!, id: house.resources!.waiting[0]!.run! }
  const marks = (isWorking: boolean): string =>
    runRows({ ...house, runs: [{ ...waiting, isWorking }] })
      .map(({ run, wait }) => `${run === null ? '' : 'runs'}${wait === null ? '' : 'waits'}`)
      .join(' ')
  assert.deepEqual([marks(false), marks(true)], ['waits', 'runs waits'])
})

test('events are lines in words', () => {
  const words = (type: string, more: Record<string, unknown>): string => {
    const event = { type, ts: '', flow: 'boiler', run: null, ...more } as EngineEvent
    const { level, source, text } = logText(event)
    return `${level} ${source}: ${text}`
  }
  const run = '0190f3c2-7b1e-7cc3-98c4-dc0c0c07b220'
  assert.deepEqual(
    [
      words('node_log', { node: 'boiler.alarm', level: 'warn', text: 'late' }),
      words('node_error', { node: 'boiler.alarm', code: 'node_error', message: 'level is null' }),
      words('node_down', { node: 'boiler.cam', text: 'no frame' }),
      words('flow_saved', { version: 41, commit: 'ab', by: 'ada' }),
      words('run_started', { run }),
      words('run_finished', { run, status: 'failed', error: 'timeout', node: 'train' }),
      words('run_finished', { run, status: 'succeeded' }),
      words('values_dropped', { reason: 'hard_cap', count: 3 }),
      words('thread_replaced', { flow: null, thread: 'timer' }),
      words('flavor_changed', { flow: null, flavor: { gpus: 1 }, name: 'big' }),
    ],
    [
      'warn boiler.alarm: late',
      'error boiler.alarm: level is null',
      'warn boiler.cam: reports down: no frame',
      'info boiler: version 41 saved by ada',
      'info boiler: b220 started',
      'error boiler: b220 failed: timeout in train',
      'info boiler: b220 succeeded',
      'warn boiler: 3 dropped: hard_cap',
      'warn engine: thread replaced thread=timer',
      'info engine: flavor changed flavor={"gpus":1} name=big',
    ],
  )
})

test('figures have the same width for the same size', () => {
  assert.deepEqual([0, 0.04, 0.2, 96.44, 412.6, 1204, 25_613, 2e6].map(perSecond), [
    ...['0', '0.04', '0.2', '96.4', '412.6', '1 204', '25 613', '2.00M'],
  ])
  assert.deepEqual([null, 7.2e-8, 3.1e-4, 0.0068, 0.023, 0.212, 5].map(milliseconds), [
    ...['–', '<0.01', '0.31', '6.80', '23.0', '212', '5 000'],
  ])
  assert.deepEqual([900, 14_000, 130_000, 8e6, 2e8].map(age), ['0 s', '14 s', '2 min', '2 h', '2 d'])
  assert.deepEqual([9_000, 192_000, 4e6].map(waitTime), ['9 s', '3 m 12 s', '1 h 6 m'])
  assert.deepEqual([bar(0, 4), bar(0.5, 4), bar(0.9, 4), bar(7, 4)], ['░░░░', '██░░', '███▋', '████'])
  assert.deepEqual([zeroLine([1, 4, 8], 5), zeroLine([0, 0], 2), zeroLine([], 3)], ['  ▁▄█', '▁▁', '   '])
})

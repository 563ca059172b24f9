import assert from 'node:assert/strict'
import { test } from 'node:test'
import { example } from '../../docs/examples/index.ts'
import load from '../../docs/examples/metrics/load.ts'
import { lineOf, send } from '../../docs/examples/metrics/send.ts'
import { eventually, liveEngine } from '../kit/live-engine.ts'
import { Story } from '../kit/live-story.ts'

const LINES = 100_000
const RATE = 50_000

test('every line that is sent at 50,000 a second arrives, or is counted', async t => {
  const { engine } = await liveEngine(t)
  const story = new Story(engine)
  const { document } = example('metrics')
  document.nodes[0]!.settings!['listen'] = 'tcp://127.0.0.1:0'
  assert.deepEqual((await story.save('metrics', document)).issues, [])
  const port = (): number | undefined => engine.nodes.get('metrics.telegraf').gauges['port']
  await eventually(() => port() !== undefined, 'the port')
  const sent = await send(`tcp://127.0.0.1:${port()}`, RATE, LINES)
  t.diagnostic(`sent in ${sent.seconds.toFixed(2)} s`)
  await eventually(
    () => story.version('metrics.user') + engine.nodes.get('metrics.telegraf').dropped >= LINES,
    'every line',
  )
  const { dropped } = engine.nodes.get('metrics.telegraf')
  await story.executed('metrics', 'load', LINES - dropped)
  assert.equal(story.version('metrics.user') + dropped, LINES)
  assert.equal(dropped, 0)
  // The body has seen each of them, once: it counts in its state.
  await story.becomes('metrics.seen', LINES)
  const ctx: Parameters<typeof load>[1] = { settings: { every: 1000 }, state: {} }
  let busiest: unknown
  for (let n = 0; n < LINES; n++) {
    const [, host, user, system, ns] = /host=(\w+) usage_user=([\d.]+),usage_system=([\d.]+) (\d+)/.exec(lineOf(n))!
    busiest = load({ host: host!, user: Number(user), system: Number(system), at: Number(ns) / 1000 }, ctx)?.busiest
  }
  assert.deepEqual(story.value('metrics.busiest'), busiest)
  assert.equal(story.node('metrics', 'load').errors, 0)
})

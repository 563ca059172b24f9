import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { settings } from '../../protocol/settings.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { liveEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

/** What the operator has set: settings of this engine, credentials for another one, and what bodies may have. */
const HIDDEN = { SVC_URL: 'http://127.0.0.1:1', SVC_TOKEN: 'a-token', SVC_ANYTHING: 'x', SMTP_URL: 'smtp://a:b@c' }
const SHOWN = { TZ: 'Europe/Oslo', A_LIBRARY: 'needs this' }
const before = { ...process.env }
Object.assign(process.env, HIDDEN, SHOWN, { DATABASE_URL: 'sqlite:', FLOW_ISOLATION: 'thread' })
after(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
  Object.assign(process.env, before)
})

const NAMES = 'export default () => ({ y: { ...process.env } })'
const one = (more: Partial<FlowNode>) =>
  flow([code('body', NAMES, [input('x', 'int')], [output('y', 'json')], more)], { message: 'x', dtype: 'int' })

function assertSeen(environment: Record<string, string>): void {
  const own = Object.values(settings).map(({ variable }) => variable)
  const seen = Object.keys(environment).filter(name => name.startsWith('SVC_') || (name !== 'TZ' && own.includes(name)))
  assert.deepEqual(seen, [])
  assert.partialDeepStrictEqual(environment, SHOWN)
  assert.equal(environment['PATH'], before['PATH'])
}

test('bodies see neither the settings of the engine nor credentials for another one, in threads and in processes', async t => {
  const { engine } = await liveEngine(t, { FLOW_LANES: '1', FLOW_MAX_WORKERS: '2' })
  const story = new Story(engine)
  for (const [name, more] of [
    ['inline', {}],
    ['slot', { timeout: 20 }],
    ['process', { isolation: 'process' as const }],
    ['asks', { isolation: 'process' as const, resources: { env: { SVC_URL: 'given' } } }],
  ] as const) {
    await story.save(name, one(more))
    story.publish(`${name}.x`, 1)
    const [seen] = (await story.values(`${name}.y`, 1)) as [Record<string, string>]
    if (name === 'asks') assert.equal(seen['SVC_URL'], 'given')
    else assertSeen(seen)
  }
  const run = await new BatchStory(engine).runs('inline', { inputs: { x: 1 } })
  assertSeen((run.result as { y: Record<string, string> }).y)
})

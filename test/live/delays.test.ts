import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, node, output, Story } from '../kit/live-story.ts'

const FAR_S = 3_600
const live = sharedEngine()
const int = (message: string) => ({ message, dtype: 'int' as const })
const late = output('value', 'int', { message: 'late' })
const value = input('value', 'int', { message: 'x' })
const delay = (seconds: number) => node('wait', 'delay', { seconds }, [value], [late])
const trigger = (settings: Record<string, unknown>) => node('wait', 'trigger', settings, [value], [late])
const seen = code(
  'seen',
  'export default ({ late }) => ({ seen: late })',
  [input('late', 'int')],
  [output('seen', 'int')],
)

test('a delay publishes each value later, in order, and each begins a cascade of its own', async () => {
  const story = new Story(live.engine)
  await story.save('delayed', flow([delay(0.05), seen], int('x')))
  for (const x of [1, 2, 3]) story.publish('delayed.x', x)
  assert.deepEqual(await story.values('delayed.seen', 3), [1, 2, 3])
  const roots = (await story.cascades('delayed')).filter(({ root }) => root === 'delayed.late')
  assert.deepEqual(
    roots.map(one => [one.root_version, one.parent]).reverse(),
    [1, 2, 3].map(version => [version, null]),
  )
})

test('a value never overtakes one before it, also when a save has made the delay shorter', async () => {
  const story = new Story(live.engine)
  await story.save('shorter', flow([delay(0.4), seen], int('x')))
  story.publish('shorter.x', 1)
  await story.executed('shorter', 'wait', 1)
  await story.save('shorter', flow([delay(0), seen], int('x')))
  story.publish('shorter.x', 2)
  assert.deepEqual(await story.values('shorter.seen', 2), [1, 2])
})

test('what is scheduled in a disabled flow is published when it is enabled', async () => {
  const story = new Story(live.engine)
  await story.save('paused', flow([delay(0.02), seen], int('x')))
  await story.save('paused', flow([delay(0.3), seen], int('x')))
  story.publish('paused.x', 7)
  await story.executed('paused', 'wait', 1)
  await live.engine.flows.setEnabled('paused', false, 'tests')
  await live.engine.flows.setEnabled('paused', true, 'tests')
  assert.deepEqual(await story.values('paused.seen', 1), [7])
})

test('a save that takes the node away drops what it had scheduled, and says how many', async () => {
  const story = new Story(live.engine)
  await story.save('gone', flow([delay(FAR_S), seen], int('x')))
  for (const x of [1, 2, 3]) story.publish('gone.x', x)
  await story.executed('gone', 'wait', 3)
  await story.save('gone', flow([seen], int('x')))
  assert.equal(await story.dropped('port_removed'), 3)
})

test('a debounce publishes the newest value when none has come for the length of the wait', async () => {
  const story = new Story(live.engine)
  await story.save('silence', flow([trigger({ seconds: 0.1 })], int('x')))
  for (const x of [1, 2, 3]) story.publish('silence.x', x)
  await story.becomes('silence.late', 3)
  assert.deepEqual(await story.values('silence.late'), [3])
  assert.equal(story.node('silence', 'wait').replaced, 2)
})

test('a hold publishes the newest value at the end of the wait that the first one began', async () => {
  const story = new Story(live.engine)
  await story.save('held-up', flow([trigger({ mode: 'hold', seconds: 0.1, passthrough: true })], int('x')))
  for (const x of [1, 2, 3]) story.publish('held-up.x', x)
  assert.deepEqual(await story.values('held-up.late', 2), [1, 3])
})

test('a wait of zero sends nothing afterwards, and cancels what the value before it had scheduled', async () => {
  const story = new Story(live.engine)
  const wait = input('wait', 'float', { message: 'wait', trigger: false })
  const nodes = [node('wait', 'trigger', { wait_port: 'wait' }, [value, wait], [late])]
  await story.save('zero', flow(nodes, int('x'), { message: 'wait', dtype: 'float', default: FAR_S }))
  story.publish('zero.x', 1)
  await story.executed('zero', 'wait', 1)
  story.publish('zero.wait', 0)
  story.publish('zero.x', 2)
  await story.executed('zero', 'wait', 2)
  // An execution is counted before what it gives takes effect.
  await eventually(() => story.node('zero', 'wait').replaced === 1, 'the value before it is cancelled')
  story.publish('zero.wait', 0.01)
  story.publish('zero.x', 3)
  await story.becomes('zero.late', 3)
  assert.deepEqual(await story.values('zero.late'), [3])
  story.publish('zero.wait', -1)
  story.publish('zero.x', 4)
  const [error] = await story.errors('zero.wait')
  // Nothing of a body: its user has written none.
  assert.match(error!.message, /^RangeError: the wait is -1 seconds; it must be between 0 and \d+\. Correct /)
})

test('a trigger with all of its settings takes the wait of its port', async () => {
  const story = new Story(live.engine)
  const wait = input('wait', 'float', { message: 'wait', trigger: false })
  const settings = { mode: 'debounce', seconds: FAR_S, passthrough: false, wait_port: 'wait' }
  const nodes = [node('wait', 'trigger', settings, [value, wait], [late])]
  await story.save('both', flow(nodes, int('x'), { message: 'wait', dtype: 'float', default: 0.01 }))
  story.publish('both.x', 1)
  await story.becomes('both.late', 1)
})

test('what a node of time cannot have is refused, with its place', async () => {
  const story = new Story(live.engine)
  const wrong = node(
    'wait',
    'trigger',
    { seconds: 1, wait_port: 'none' },
    [value],
    [output('value', 'bool', { rate_hz: 1, message: 'late' })],
  )
  await assert.rejects(
    () => story.save('wrong', flow([{ ...wrong, timeout: 3 }], int('x'))),
    (error: { errors?: readonly { loc: string }[] }) => {
      assert.deepEqual(error.errors!.map(({ loc }) => loc).sort(), [
        'nodes[0].ports.outputs[0].dtype',
        'nodes[0].ports.outputs[0].rate_hz',
        'nodes[0].settings.wait_port',
        'nodes[0].timeout',
      ])
      return true
    },
  )
})

test('what is scheduled outlives a restart: in order, none twice, and what came due meanwhile at once', async t => {
  const first = await liveEngine(t)
  const before = new Story(first.engine)
  await before.save('near', flow([delay(1), seen], int('x')))
  await before.save('far', flow([delay(FAR_S), seen], int('x')))
  const numbers = Array.from({ length: 500 }, (_, number) => number)
  for (const number of numbers) await before.publishPatiently('near.x', number)
  before.publish('far.x', 1)
  await before.executed('far', 'wait', 1)
  const { engine } = await first.restart()
  const story = new Story(engine)
  assert.deepEqual(await story.values('near.seen', numbers.length), numbers)
  assert.equal(story.version('far.late'), 0)
  // The far one is still there: it is dropped with a number.
  await engine.flows.remove('far', 'tests')
  assert.equal(await story.dropped('flow_deleted'), 1)
})

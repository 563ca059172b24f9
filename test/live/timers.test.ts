import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, inject, input, output, Story } from '../kit/live-story.ts'

const FAR_S = 3_600
/** Fourteen hours ahead of UTC, without summer time: the present hour there is never the present hour in UTC. */
const TZ = 'Pacific/Kiritimati'
const live = sharedEngine({ TZ })

/** Every second of this hour and of the next one, by the clock of that zone. */
function aroundNow(timeZone: string): string {
  const hour = Number(new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' }).format(new Date()))
  return `* * ${hour},${(hour + 1) % 24} * * *`
}

const every = (id: string, settings: Record<string, unknown>) => inject(id, settings, output(id, 'int'))

test('an inject at an interval publishes its value again and again, each one a cascade of its own', async () => {
  const story = new Story(live.engine)
  const plus = code('plus', 'export default ({ n }) => ({ y: n + 1 })', [input('n', 'int')], [output('y', 'int')])
  await story.save('beat', flow([every('n', { every_s: 0.02, value: 41 }), plus]))
  assert.deepEqual((await story.values('beat.y', 3)).slice(0, 3), [42, 42, 42])
  const roots = (await story.cascades('beat')).map(one => [one.root, one.parent, one.status])
  assert.ok(roots.length >= 3)
  for (const root of roots) assert.deepEqual(root, ['beat.n', null, 'succeeded'])
  assert.ok(story.node('beat', 'n').executions >= 3)
})

test('a cron expression is read in the time zone of TZ', async () => {
  const story = new Story(live.engine)
  await story.save('hours', flow([every('here', { cron: aroundNow(TZ) }), every('utc', { cron: aroundNow('UTC') })]))
  await story.reaches('hours.here', 2)
  assert.equal(story.version('hours.utc'), 0)
})

test('once: at every save of its flow, when it is enabled, and not when another flow is saved', async () => {
  const story = new Story(live.engine)
  const document = (note: string) =>
    flow([every('go', { once: true, value: 7 }), code('other', `// ${note}\nexport default () => {}`, [])])
  const reader = (note: string) =>
    flow([code('read', `// ${note}\nexport default () => {}`, [input('go', 'int', { message: 'first.go' })])])
  await story.save('first', document('one'))
  await story.reaches('first.go', 1)
  await story.save('first', document('two'))
  await story.reaches('first.go', 2)
  // The first save wires the two flows anew, so the timers of both are posted again.
  await story.save('second', reader('one'))
  await story.save('second', reader('two'))
  await live.engine.flows.rename('first', 'renamed', 'tests')
  await live.engine.flows.setEnabled('renamed', false, 'tests')
  await live.engine.flows.setEnabled('renamed', true, 'tests')
  await story.reaches('renamed.go', 3)
  // Whatever was posted before it has been looked at by now.
  await story.save('renamed', document('three'))
  await story.reaches('renamed.go', 4)
  assert.deepEqual(await story.values('renamed.go'), [7, 7, 7, 7])
})

test('an interval keeps its phase when another flow, or another node of its own flow, is saved', async () => {
  const story = new Story(live.engine)
  const document = (note: string) =>
    flow([every('tick', { every_s: 0.5 }), code('other', `// ${note}\nexport default () => {}`, [])])
  // Each save takes the one or the other message into use, so that both flows are wired anew.
  const reader = (message: string) => flow([code('read', 'export default () => {}', [input('x', 'int', { message })])])
  await story.save('phase', document('first'))
  for (let save = 0; story.version('phase.tick') < 2; save++) {
    await story.save('phase', document(`again ${save}`))
    await story.save('watcher', reader(save % 2 === 0 ? 'phase.tick' : 'beat.y'))
    await sleep(50)
    // Saves come faster than the interval: one that began it anew would never let it end.
    assert.ok(save < 300, 'the interval never ends')
  }
})

test('a changed interval starts again, and what the old one had planned does not come', async () => {
  const story = new Story(live.engine)
  await story.save('change', flow([every('tick', { every_s: FAR_S, value: 1 })]))
  await story.save('change', flow([every('tick', { every_s: 0.02, value: 2 })]))
  await story.reaches('change.tick', 3)
  await story.save('change', flow([every('tick', { every_s: FAR_S, value: 3 })]))
  const stopped = story.version('change.tick')
  await story.reaches('beat.n', story.version('beat.n') + 5)
  assert.equal(story.version('change.tick'), stopped)
  assert.deepEqual(new Set(await story.values('change.tick')), new Set([2]))
})

test('a disabled flow has no timers; enabled again it has them all', async () => {
  const story = new Story(live.engine)
  await story.save('rest', flow([every('tick', { every_s: 0.02 })]))
  await story.reaches('rest.tick', 2)
  await live.engine.flows.setEnabled('rest', false, 'tests')
  const stopped = story.version('rest.tick')
  await story.reaches('beat.n', story.version('beat.n') + 5)
  assert.equal(story.version('rest.tick'), stopped)
  await live.engine.flows.setEnabled('rest', true, 'tests')
  await story.reaches('rest.tick', stopped + 2)
})

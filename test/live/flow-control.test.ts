import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import { eventually, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '2' })

const int = (message: string) => ({ message, dtype: 'int' as const })
const yields = (times: number, from: string, to: string, kind = 'function*') =>
  code(
    to,
    `export default ${kind} ({ ${from} }) { for (let i = 1; i <= ${times}; i++) yield { ${to}: i } }`,
    [input(from, 'int')],
    [output(to, 'int')],
  )
const reads = (from: string) => code('read', 'export default () => {}', [input(from, 'int')])

/** As a client that is told to wait does. */
async function publishAll(story: Story, name: string, times: number): Promise<void> {
  for (let value = 1; value <= times; value++) {
    await eventually(() => {
      try {
        story.publish(name, value)
        return true
      } catch (error) {
        if ((error as { code?: string }).code === 'backlogged') return false
        throw error
      }
    }, `${name} takes the ${value}th value`)
  }
}

/** All that was accepted has ended, and nothing waits any more. */
async function isIdle(story: Story, name: string, cascades: number, status = 'succeeded'): Promise<void> {
  const ended = async () => (await story.cascades(name)).map(cascade => cascade.status).filter(one => one !== 'running')
  await eventually(async () => (await ended()).length >= cascades, 'all cascades have ended')
  assert.deepEqual(await ended(), new Array(cascades).fill(status))
  await eventually(() => story.engine.flows.get(name).backlog.waiting === 0, 'nothing waits')
}

test('generators that feed generators go on past the bound of their flow until all has run', async t => {
  const { engine } = await liveEngine(t, {}, { waiting_items: 100 })
  const story = new Story(engine)
  await story.save('chain', flow([yields(50, 'x', 'y'), yields(2, 'y', 'z', 'async function*'), reads('z')], int('x')))
  await publishAll(story, 'chain.x', 40)
  await story.executed('chain', 'read', 40 * 50 * 2)
  assert.equal(story.version('chain.z'), 4_000)
  await isIdle(story, 'chain', 40)
})

test('a body that emits nearly as much as it may without awaiting, into a generator, is held back and not stopped', async () => {
  const story = new Story(live.engine)
  const emits = limits.UNAWAITED_EMITS - 100
  const burst = `export default (_, ctx) => { for (let i = 1; i <= ${emits}; i++) ctx.emit({ y: i }) }`
  await story.save(
    'burst',
    flow([code('y', burst, [input('x', 'int')], [output('y', 'int')]), yields(2, 'y', 'z'), reads('z')], int('x')),
  )
  await publishAll(story, 'burst.x', 2)
  await story.executed('burst', 'read', 2 * emits * 2)
  assert.equal(story.node('burst', 'y').errors, 0)
  await isIdle(story, 'burst', 2)
})

test('a loop over a generator that yields twice is broken as a cycle, told once with a number, and the flow goes on', async () => {
  const story = new Story(live.engine)
  const twice = 'export default function* ({ n }) { yield { n: n + 1 }; yield { n: n + 1 } }'
  await story.save('twice', flow([code('n', twice, [input('n', 'int')], [output('n', 'int')])]))
  story.publish('twice.n', 0)
  await story.shows('twice', 'cycle')
  assert.match(story.issue('twice', 'cycle')!.message, /n -> n/)
  await isIdle(story, 'twice', 1, 'failed')
  const told = await story.events('twice', 'cycle_broken')
  const broken = told.reduce((sum, event) => sum + (event['count'] as number), 0)
  assert.ok(broken > 1_000 && told.length < 100, `${broken} values in ${told.length} events`)
  story.publish('twice.n', 0)
  await isIdle(story, 'twice', 2, 'failed')
})

test('a loop that doubles by emits is told once for its cascade, with the number of values', async () => {
  const story = new Story(live.engine)
  const split = 'export default ({ n }, ctx) => { ctx.emit({ n: n + 1 }); return { n: n + 1 } }'
  await story.save('doubles', flow([code('n', split, [input('n', 'int')], [output('n', 'int')])]))
  story.publish('doubles.n', 0)
  await isIdle(story, 'doubles', 1, 'failed')
  const told = await story.events('doubles', 'cycle_broken')
  const broken = told.reduce((sum, event) => sum + (event['count'] as number), 0)
  const executions = story.node('doubles', 'n').executions
  assert.equal(broken, 2 * executions - limits.BACK_EDGE_WAVES)
  assert.ok(told.length < 100, `${told.length} events`)
})

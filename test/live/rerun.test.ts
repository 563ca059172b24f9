import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, liveEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, refused, Story } from '../kit/live-story.ts'

const int = (message: string) => ({ message, dtype: 'int' as const })

async function once(story: Story, name: string, status: string, count: number) {
  const found = async () => (await story.cascades(name)).filter(one => one.status === status)
  await eventually(async () => (await found()).length >= count, `${count} cascades of ${name} are ${status}`)
  return (await found()).reverse()
}

test('a cascade that failed runs again from the value that began it, in its flow alone, as a new one that names it', async t => {
  const live = await liveEngine(t)
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'repaired')
  const broken = `import { existsSync } from 'node:fs'
export default ({ x, other }) => { if (x === 2 && !existsSync(${JSON.stringify(gate.path)})) throw new Error('not yet'); return { y: [x, other] } }`
  const reads = [input('x', 'int'), input('other', 'int', { trigger: false })]
  const late = code(
    'late',
    'export default ({ other, x }) => ({ pair: [other, x] })',
    [input('other', 'int'), input('x', 'int', { trigger: false })],
    [output('pair')],
  )
  await story.save('again', flow([code('n', broken, reads, [output('y')]), late], int('x'), int('other')))
  await story.save(
    'beside',
    flow([
      code(
        'n',
        'export default ({ x }) => ({ y: x })',
        [input('x', 'int', { message: 'again.x' })],
        [output('y', 'int')],
      ),
    ]),
  )
  story.publish('again.other', 10)
  for (const x of [1, 2, 3]) story.publish('again.x', x)
  await story.reaches('beside.y', 3)
  const [failed] = await once(story, 'again', 'failed', 1)
  assert.deepEqual([failed!.root, failed!.root_version, failed!.rerun_of], ['again.x', 2, null])
  const [succeeded] = await once(story, 'again', 'succeeded', 3)
  assert.equal(await refused(live.engine.cascades.rerun(succeeded!.id)), 'cascade_succeeded')
  gate.open()
  story.publish('again.other', 20)
  assert.deepEqual(await live.engine.cascades.rerun(failed!.id), {
    rerun_of: failed!.id,
    flow: 'again',
    root: 'again.x',
    root_version: 2,
  })
  await story.becomes('again.y', [2, 20])
  const ran = (await once(story, 'again', 'succeeded', 5)).at(-1)!
  assert.deepEqual([ran.root, ran.root_version, ran.rerun_of, ran.parent], ['again.x', 2, failed!.id, null])
  assert.deepEqual([story.version('again.x'), story.value('again.x'), story.version('beside.y')], [3, 3, 3])
  // What it ran with is older than what the flow has come to: a later cascade reads the newest.
  story.publish('again.other', 30)
  await story.becomes('again.pair', [30, 3])
  const [event] = await story.events('again', 'cascade_rerun')
  assert.deepEqual([event!['cascade'], event!['root_version']], [failed!.id, 2])
})

test('a cascade that the end of an engine interrupted runs again on the next one', async t => {
  const live = await liveEngine(t)
  const before = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'held')
  const source = `${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`
  const long = 'x'.repeat(3_000)
  await before.save(
    'held',
    flow([code('hold', source, [input('x', 'str')], [output('y', 'str')])], { message: 'x', dtype: 'str' }),
  )
  before.publish('held.x', long)
  await eventually(async () => (await live.engine.observe.summary()).cascades.in_flight === 1, 'its body is away')
  const running = await once(before, 'held', 'running', 1)
  assert.equal(await refused(live.engine.cascades.rerun(running[0]!.id)), 'cascade_running')
  const { engine } = await live.restart()
  const story = new Story(engine)
  const [interrupted] = await once(story, 'held', 'interrupted', 1)
  for (let more = 0; more < 5; more++) story.publish('held.x', `${more}`)
  gate.open()
  await story.becomes('held.y', '4')
  await engine.cascades.rerun(interrupted!.id)
  await story.becomes('held.y', long)
  const ran = (await once(story, 'held', 'succeeded', 6)).at(-1)!
  assert.deepEqual([ran.rerun_of, ran.root_version], [interrupted!.id, 1])
})

test('what is not there any more is said when a cascade is to run again', async t => {
  const live = await liveEngine(t)
  const story = new Story(live.engine)
  const fails = code('n', 'export default () => { throw new Error("no") }', [input('x', 'int')])
  await story.save('gone', flow([fails], int('x')))
  story.publish('gone.x', 1)
  const [failed] = await once(story, 'gone', 'failed', 1)
  const { id } = failed!
  const rerun = () => live.engine.cascades.rerun(id)
  await live.engine.flows.setEnabled('gone', false, 'tests')
  assert.equal(await refused(rerun()), 'flow_disabled')
  await live.engine.flows.setEnabled('gone', true, 'tests')
  await story.save(
    'gone',
    flow([{ ...fails, ports: { inputs: [input('z', 'int')], outputs: [] } }], int('x'), int('z')),
  )
  assert.equal(await refused(rerun()), 'root_value_gone')
  await live.engine.flows.remove('gone', 'tests')
  assert.equal(await refused(rerun()), 'root_value_gone')
  assert.equal(await refused(live.engine.cascades.rerun('019b0000-0000-7000-8000-ffffffffffff')), 'cascade_not_found')
})

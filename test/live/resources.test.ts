import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { auditBooks } from '../../core/books/audit.ts'
import type { LiveEngine as Whole } from '../../server/live-engine.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_CPUS: '2', FLOW_MAX_WORKERS: '4', FLOW_GPUS: '1' }, { call_grace_ms: 100 })
const engine = (): Whole => live.engine as unknown as Whole

afterEach(() => assert.deepEqual(auditBooks(engine().front.memory, engine().front.clock.steady_us()), []))

const int = (message: string) => ({ message, dtype: 'int' as const })
const x = input('x', 'int')
const y = output('y', 'int')
const free = () => engine().workers.resources().machines[0]!.free

test('live nodes hold what they declare while their bodies run, and the next one waits for it', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'held')
  const blocks = `${gate.blockingSource}
export default ({ x }) => { opened(); return { y: x } }`
  await story.save('first', flow([code('n', blocks, [x], [y], { resources: { cpus: 2, gpus: 1 } })], int('x')))
  const quick = 'export default ({ x }) => ({ y: x })'
  await story.save('second', flow([code('n', quick, [x], [y], { resources: { cpus: 64 } })], int('x')))
  await story.save('third', flow([code('n', quick, [x], [y], { resources: { ram: '1M' } })], int('x')))
  story.publish('first.x', 1)
  await eventually(() => free().cards.length === 0, 'the first holds the card')
  story.publish('second.x', 2)
  await eventually(() => engine().workers.resources().waiting.length === 1, 'the second waits')
  const [waiter] = engine().workers.resources().waiting
  assert.deepEqual([waiter!.node, waiter!.asked.cpus, waiter!.needs.cpus], ['second.n', 64, 2])
  story.publish('third.x', 3)
  assert.deepEqual(await story.values('third.y', 1), [3])
  gate.open()
  assert.deepEqual([await story.values('first.y', 1), await story.values('second.y', 1)], [[1], [2]])
  await eventually(() => free().cpus === 2 && free().cards.length === 1, 'all is free again')
})

test('a body that runs past its timeout holds what it has until its thread has ended', async () => {
  const story = new Story(live.engine)
  const source = 'export default () => { for (;;); }'
  const more = { resources: { cpus: 2 }, timeout: 0.2 }
  await story.save('endless', flow([code('n', source, [x], [y], more)], int('x')))
  await story.save(
    'after',
    flow([code('n', 'export default ({ x }) => ({ y: x })', [x], [y], { resources: { cpus: 1 } })], int('x')),
  )
  story.publish('endless.x', 1)
  await eventually(() => free().cpus === 0, 'it runs')
  story.publish('after.x', 5)
  assert.deepEqual(await story.values('after.y', 1), [5])
  await eventually(() => free().cpus === 2, 'all is free again')
})

test('a flavor is read again at each call, and a node that asks for it keeps it', async () => {
  const story = new Story(live.engine)
  const { flavors } = engine()
  await flavors.put('mine', { gpus: 1 }, 'ada')
  const gate = new Gate(live.data_dir, 'flavored')
  const blocks = `${gate.blockingSource}
export default ({ x }) => { opened(); return { y: x } }`
  await story.save('sized', flow([code('n', blocks, [x], [y], { resources: { flavor: 'mine' } })], int('x')))
  await assert.rejects(flavors.remove('mine', 'ada'), { code: 'flavor_in_use' })
  await assert.rejects(
    story.save('wrong', flow([code('n', blocks, [x], [y], { resources: { flavor: 'none' } })], int('x'))),
    { code: 'unknown_flavor' },
  )
  await flavors.put('mine', { cpus: 1 }, 'ada')
  story.publish('sized.x', 1)
  await eventually(() => free().cpus === 1, 'it holds what the flavor gives now')
  assert.equal(free().cards.length, 1)
  gate.open()
  await story.values('sized.y', 1)
})

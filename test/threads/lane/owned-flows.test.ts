import { test } from 'node:test'
import { liveEngine } from '../../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../../kit/live-story.ts'

const x = input('x', 'int')
const y = output('y', 'int')
const int = (message: string) => ({ message, dtype: 'int' as const })

test('flows whose bodies were loaded together do not wait for each other: another lane has them', async t => {
  const { engine, data_dir } = await liveEngine(t, { FLOW_LANES: '2' }, { blocked_lane_ms: 600_000 })
  const story = new Story(engine)
  const gate = new Gate(data_dir)
  const blocks = `${gate.blockingSource}export default ({ x }) => { opened(); return { y: x } }`
  await story.save('blocks', flow([code('blocks', blocks, [x], [y])], int('x')))
  const others = ['a', 'b', 'c']
  // What they import is the same, so that they are loaded at the same time.
  const passes = (name: string) => `${gate.blockingSource}export default ({ x }) => ({ y: x }) // ${name}`
  for (const name of others) await story.save(name, flow([code('passes', passes(name), [x], [y])], int('x')))
  for (const name of ['blocks', ...others]) story.publish(`${name}.x`, 1)
  for (const name of others) await story.reaches(`${name}.y`, 1)
  gate.open()
  await story.reaches('blocks.y', 1)
})

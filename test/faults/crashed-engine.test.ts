import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { body, flowOf, RealEngine } from '../kit/real-engine.ts'
import { directoryFor, eventually } from '../kit/spawned.ts'

const KILLS = `export default ({ x }, ctx) => {
  if (x === 7) process.kill(process.pid, 'SIGKILL')
  ctx.state.sum = (ctx.state.sum ?? 0) + x
  return { y: ctx.state.sum }
}`
const SUMS = 'export default ({ x }, ctx) => ({ y: (ctx.state.sum = (ctx.state.sum ?? 0) + x) })'
/** Holds the lane until the file is there: the value that kills is on disk before it runs. */
const holds = (file: string): string => `import { existsSync } from 'node:fs'
export default ({ x }) => { while (!existsSync(${JSON.stringify(file)})); return { y: x } }`

test('a value whose body kills every engine that runs it is dropped with a number: what is around it runs, once', async t => {
  const engine = await RealEngine.start(t, { environment: { FLOW_LANES: '1' } })
  const file = join(directoryFor(t), 'open')
  const io = { reads: ['x'], makes: ['y'] }
  await engine.save('holds', flowOf(body('holds', holds(file), io)))
  await engine.save('kills', flowOf(body('bad', KILLS, io)))
  await engine.save('sums', flowOf(body('good', SUMS, io)))
  const { pid } = engine
  await engine.publish('holds.x', 0)
  const accepted: number[] = []
  for (const x of [1, 2, 7, 3, 4]) {
    await engine.publish('sums.x', x)
    accepted.push(await engine.publish('kills.x', x, { durable: x === 4 }))
  }
  writeFileSync(file, '')
  for (const restarts of [1, 2, 3]) {
    await eventually(`it is started again, ${restarts}`, () => {
      if (engine.process.child.exitCode !== null) assert.fail(engine.process.stderr)
      return (engine.process.stderr.match(/is started again/g) ?? []).length >= restarts
    })
  }
  await engine.restartedAfter(pid)
  await engine.value('kills.y', 1 + 2 + 3 + 4)
  await engine.value('sums.y', 17)
  const { not_run_after_restart, issues } = await engine.flow('kills')
  assert.equal(not_run_after_restart, 1)
  assert.ok(issues.some(({ message }) => message.includes('crashed_engine')))
  assert.equal((await engine.summary()).dropped['crashed_engine'], 1)
  const event = await eventually('the event is there', async () =>
    (await engine.events('values_dropped')).find(one => one['reason'] === 'crashed_engine'),
  )
  assert.deepEqual(
    [event['flow'], event['count'], event['message'], event['version']],
    ['kills', 1, 'kills.x', accepted[2]],
  )
  assert.match(engine.log, /"event":"item_dropped".*"message":"kills\.x"/)
  await eventually('all of it is on disk', async () => (await engine.history('sums.y')).items.length === 5)
  const values = async (name: string) =>
    (await engine.pointsSince(name, { version: 0, ts: null })).map(one => one.value)
  assert.deepEqual(await values('kills.y'), [1, 3, 6, 10])
  assert.deepEqual(await values('sums.y'), [1, 3, 10, 13, 17])
  assert.equal((await engine.flow('sums')).not_run_after_restart, 0)
})

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

/** The supervisor has started it again so often. */
async function restarts(engine: RealEngine, times: number): Promise<void> {
  for (let time = 1; time <= times; time++) {
    await eventually(`it is started again, ${time}`, () => {
      if (engine.process.child.exitCode !== null) assert.fail(engine.process.stderr)
      return (engine.process.stderr.match(/is started again/g) ?? []).length >= time
    })
  }
}

test('a value whose body kills every engine that runs it is dropped with a number: what is around it runs, once', async t => {
  const engine = await RealEngine.start(t, { environment: { FLOW_LANES: '1' } })
  const file = join(directoryFor(t), 'open')
  const io = { reads: ['x'], makes: ['y'] }
  await engine.save('holds', flowOf(body('holds', holds(file), io)))
  await engine.save('kills', flowOf(body('bad', KILLS, io)))
  await engine.save('sums', flowOf(body('good', SUMS, io)))
  const { pid } = engine
  await engine.publish('holds.x', 0)
  // In one request: a lane that is held for a second gives its other flows away.
  const published = [1, 2, 7, 3, 4].flatMap(value =>
    ['sums.x', 'kills.x'].map(name => ({ name, value, durable: true })),
  )
  const { status, json } = await engine.ask('POST', '/messages/', published)
  assert.equal(status, 202, JSON.stringify(json))
  const accepted = (json as { name: string; version: number }[])
    .filter(one => one.name === 'kills.x')
    .map(one => one.version)
  writeFileSync(file, '')
  await restarts(engine, 3)
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

/** Waits until the file is there; then says that it runs in this engine, and takes its time. */
const works = (file: string): string => `import { existsSync, writeFileSync } from 'node:fs'
export default ({ x }) => {
  while (!existsSync(${JSON.stringify(file)}));
  writeFileSync(${JSON.stringify(file)} + process.pid, '')
  for (const end = performance.now() + 400; performance.now() < end; );
  return { y: x }
}`
/** Kills the engine when the other one runs in it; alone if that does not come to run. Both are done before a lane counts as blocked. */
const killsBeside = (file: string): string => `import { existsSync } from 'node:fs'
export default () => {
  while (!existsSync(${JSON.stringify(file)}));
  for (const end = performance.now() + 600; performance.now() < end; )
    if (existsSync(${JSON.stringify(file)} + process.pid)) break
  process.kill(process.pid, 'SIGKILL')
}`

test('a value that runs on another lane whenever engines die of one is not blamed: it runs', async t => {
  const engine = await RealEngine.start(t, { environment: { FLOW_LANES: '2' } })
  const file = join(directoryFor(t), 'open')
  const io = { reads: ['x'], makes: ['y'] }
  await engine.save('kills', flowOf(body('bad', killsBeside(file), io)))
  await engine.save('works', flowOf(body('good', works(file), io)))
  const { pid } = engine
  await Promise.all(['kills.x', 'works.x'].map(name => engine.publish(name, 7, { durable: true })))
  writeFileSync(file, '')
  await restarts(engine, 3)
  await engine.restartedAfter(pid)
  assert.equal((await engine.flow('kills')).not_run_after_restart, 1)
  assert.equal((await engine.flow('works')).not_run_after_restart, 0)
  await engine.value('works.y', 7)
})

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { randomFrom, seed } from '../kit/random.ts'
import { body, flowOf, RealEngine } from '../kit/real-engine.ts'
import { directoryFor, eventually, isAlive } from '../kit/spawned.ts'
import { killFlows } from './kill-flows.ts'
import { KillLoad } from './kill-load.ts'

/** Bodies that nothing but the end of their thread ends. */
const HANGING = flowOf(
  body('here', 'export default () => { for (;;); }', { reads: ['x'] }),
  body('away', 'export default async () => { await new Promise(() => {}) }', { reads: ['x'] }),
  body('slot', 'export default () => { for (;;); }', { reads: ['x'], more: { timeout: 600 } }),
)

async function loaded(t: TestContext, data_dir: string) {
  const engine = await RealEngine.start(t, { data_dir, environment: { FLOW_LANES: '2' } })
  for (const [name, document] of Object.entries(killFlows))
    await engine.save(name, { ...document, on_restart: 'resume' })
  await engine.save('hanging', HANGING)
  const load = new KillLoad(engine, 1, randomFrom(seed))
  load.start()
  await eventually('much has been accepted', () => load.acknowledged.count > 500)
  return { engine, load }
}

/** Nothing of the engine is left that would be in the way of the next one, and all that it had accepted is there. */
async function goesOn(t: TestContext, data_dir: string, newest: Map<string, number>) {
  assert.ok(!existsSync(join(data_dir, 'engine.json')))
  const again = await RealEngine.start(t, { data_dir })
  for (const [message, version] of newest) {
    const found = await again.message(message)
    assert.ok(found.version >= version, `${message} ${version} was accepted, ${found.version} is there`)
  }
  const accepted = (await again.message('count.x')).version
  await again.value('count.n', accepted)
  assert.equal((await again.message('count.n')).version, accepted, 'each has run once')
  return again
}

for (const [signal, code] of [
  ['SIGTERM', 0],
  ['SIGINT', 130],
] as const) {
  test(`${signal} under load ends the engine in order with ${code}: all that it accepted is on disk (SEED=${seed})`, async t => {
    const data_dir = join(directoryFor(t), 'data')
    const { engine, load } = await loaded(t, data_dir)
    await engine.publish('hanging.x', 1)
    assert.deepEqual(await engine.stop(signal), { code, signal: null })
    await load.end()
    assert.match(engine.log, /"event":"engine_stopped"}\n$/)
    assert.doesNotMatch(engine.log, /"level":"error"/)
    await goesOn(t, data_dir, load.acknowledged.newest())
  })
}

test('a second signal ends an engine at once that takes its time', async t => {
  const data_dir = join(directoryFor(t), 'data')
  const { engine, load } = await loaded(t, data_dir)
  await engine.publish('hanging.x', 1)
  const { pid } = engine
  let ended = false
  void engine.process.ended.then(() => (ended = true))
  await eventually('it has ended', () => {
    if (!ended) engine.process.child.kill('SIGINT')
    return ended
  })
  assert.equal((await engine.process.ended).code, 130)
  assert.equal(isAlive(pid), false)
  await load.end()
  // Killed before it could say so: only what was certain is certain.
  const again = await RealEngine.start(t, { data_dir })
  for (const [message, version] of load.acknowledged.certain)
    assert.ok((await again.message(message)).version >= version, `${message} ${version}`)
  assert.doesNotMatch(engine.log.slice(0, engine.log.lastIndexOf('engine_starting')), /engine_stopped/)
})

test('a body that kills its process costs one restart: the same address answers, and nobody is woken', async t => {
  const engine = await RealEngine.start(t)
  const kills = 'export default ({ x }) => { if (x === 1) process.kill(process.pid, "SIGKILL"); return { y: x } }'
  // Resumed, if a commit came before its end, it would cost two restarts more: see crashed-engine.test.ts.
  const document = flowOf(body('bad', kills, { reads: ['x'], makes: ['y'] }))
  await engine.save('kills', { ...document, on_restart: 'latest' })
  await engine.publish('kills.x', 2)
  await engine.value('kills.y', 2)
  await eventually('it is on disk', async () => (await engine.history('kills.y')).items.length === 1)
  const { pid } = engine
  await engine.ask('POST', '/messages/kills.x', { value: 1 }).catch(() => {})
  await engine.restartedAfter(pid)
  await engine.process.stderrShows('signal SIGKILL')
  assert.equal((await engine.message('kills.y')).value, 2)
  await engine.publish('kills.x', 3)
  await engine.value('kills.y', 3)
  assert.equal((engine.process.stderr.match(/is started again/g) ?? []).length, 1)
})

test('an engine whose supervisor is gone ends in order by itself', async t => {
  const data_dir = join(directoryFor(t), 'data')
  const { engine, load } = await loaded(t, data_dir)
  const { pid } = engine
  engine.process.child.kill('SIGKILL')
  await eventually('the engine has ended', () => !isAlive(pid))
  await load.end()
  assert.match(engine.log, /"event":"engine_stopped"}\n$/)
  await goesOn(t, data_dir, load.acknowledged.newest())
})

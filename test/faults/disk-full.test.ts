import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { body, flowOf, RealEngine } from '../kit/real-engine.ts'
import { directoryFor, Endings, eventually } from '../kit/spawned.ts'

/** Takes what room is left, to the last byte. */
function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (const bytes of [1 << 20, 1 << 12, 1]) {
      for (const chunk = Buffer.alloc(bytes); ; ) if (writeSync(file, chunk) < chunk.length) break
    }
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
  } finally {
    closeSync(file)
  }
}

test('a full disk refuses what must last, costs history and nothing else, and is forgotten when there is room', async t => {
  // In this order, from the last to the first: the engine ends, then its disk goes.
  const life = new Endings()
  t.after(() => life.end())
  const disk = directoryFor(life)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', disk], { stdio: 'ignore' })
  if (mounted.status !== 0) return t.skip('needs the right to mount')
  life.after(() => spawnSync('umount', ['-l', disk]))
  const data_dir = join(disk, 'data')
  const ballast = join(disk, 'ballast')
  const engine = await RealEngine.start(life, { data_dir })
  await engine.save(
    'steady',
    flowOf(body('forward', 'export default ({ x }) => ({ y: x })', { reads: ['x'], makes: ['y'] })),
  )
  await engine.save('texts', { inputs: [{ message: 't', dtype: 'str' }], nodes: [] })
  const noise = (bytes: number): string => randomBytes(bytes).toString('base64')
  const large = () => ({ inputs: [{ message: 'x', dtype: 'str' as const, default: noise(600_000) }], nodes: [] })
  await engine.publish('steady.x', 1)
  await engine.value('steady.y', 1)
  assert.equal((await engine.history('steady.y')).items.length, 1, 'the first value is on the disk before that is full')

  fill(ballast)
  let published = 1
  await eventually('the engine notices', async () => {
    await engine.publish('texts.t', noise(200_000))
    await engine.publish('steady.x', ++published)
    return (await engine.summary()).status === 'degraded'
  })
  const whole = await engine.ask('PUT', '/flows/large', { document: large() })
  assert.equal(whole.status, 507)
  assert.equal(whole.json.code, 'disk_full')
  assert.match(whole.json.detail, /Free space in .*data.*, then try again/)
  const withBody = flowOf(body('fresh', `export default () => '${noise(150_000)}'`, { reads: ['x'] }))
  const bodied = await engine.ask('PUT', '/flows/bodied', { document: withBody })
  assert.deepEqual([bodied.status, bodied.json.code], [507, 'disk_full'])
  for (const name of ['large', 'bodied']) assert.equal((await engine.ask('GET', `/flows/${name}`)).status, 404)

  const dropped = async (): Promise<number> => (await engine.summary()).dropped['history'] ?? 0
  const before = await dropped()
  for (let times = 0; times < 20; times++) await engine.publish('steady.x', ++published)
  await engine.value('steady.y', published)
  await eventually('what is not kept is counted', async () => (await dropped()) > before)
  const { issues } = await engine.flow('steady')
  assert.match(issues.find(issue => issue.code === 'history_dropped')!.message, /values are not kept/)

  const { pid } = engine
  rmSync(ballast)
  await eventually('there is room', async () => (await engine.summary()).status === 'ok')
  assert.deepEqual((await engine.flow('steady')).issues, [])
  await engine.save('large', large())
  await engine.save('bodied', withBody)
  assert.equal(engine.pid, pid)
  assert.equal((await engine.events('disk_recovered')).length, 1)
  assert.match(engine.log, /"event":"disk_full"/)
  assert.doesNotMatch(engine.log, /"level":"error"/)

  assert.equal((await engine.stop()).code, 0)
  const db = new Database(join(data_dir, 'engine.db'), { readonly: true })
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
  db.close()
  const again = await RealEngine.start(life, { data_dir })
  const { version, value } = await again.message('steady.y')
  assert.deepEqual([version, value], [published, published])
  const kept = (await again.history('steady.y')).items.length
  assert.ok(kept >= 1 && kept < published, `${kept} of ${published} values are in the history`)
  for (const name of ['steady', 'texts', 'large', 'bodied']) assert.equal((await again.flow(name)).name, name)
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { body, flowOf, RealEngine } from '../kit/real-engine.ts'
import { directoryFor, Endings, eventually } from '../kit/spawned.ts'

/** Takes what room there is, but for so much. */
function fill(path: string, left: number): void {
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
  truncateSync(path, statSync(path).size - left)
}

test('a disk that is full for the search index loses no save that was answered, and the engine starts beside it', async t => {
  const life = new Endings()
  t.after(() => life.end())
  const disk = directoryFor(life)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', disk], { stdio: 'ignore' })
  if (mounted.status !== 0) return t.skip('needs the right to mount')
  life.after(() => spawnSync('umount', ['-l', disk]))
  const data_dir = join(disk, 'data')
  const ballast = join(disk, 'ballast')
  let engine = await RealEngine.start(life, { data_dir })
  const found = async (word: string): Promise<string[]> => {
    const { json } = await engine.ask('GET', `/search?q=${word}`)
    return json.found.map((one: { name: string }) => one.name)
  }
  await engine.save(
    'first',
    flowOf(body('forward', '// the word is firstword\nexport default () => 1', { reads: ['x'] })),
  )
  await eventually('the index is there', async () => (await found('firstword')).length > 0)

  // Words are many times as long in the index as they are in the database.
  const words = (): string => Array.from({ length: 12_000 }, () => randomBytes(5).toString('hex')).join(' ')
  fill(ballast, 4 << 20)
  const answered: string[] = []
  for (let at = 0; at < 30; at++) {
    const source = `// mark${at}mark ${words()}\nexport default () => ${at}`
    const { status, json } = await engine.ask('PUT', `/flows/words${at}`, {
      document: flowOf(body('words', source, { reads: ['x'] })),
    })
    if (status < 300) answered.push(`words${at}`)
    else {
      assert.deepEqual([status, json.code], [507, 'disk_full'])
      break
    }
  }
  assert.ok(answered.length > 0)
  fill(join(disk, 'more'), 0)
  const { pid } = engine
  for (const name of ['first', ...answered]) assert.equal((await engine.flow(name)).name, name)
  assert.equal(engine.pid, pid)
  const refusal = /search\.db cannot be written: database or disk is full/
  await eventually('the index says so', async () => refusal.test(engine.log))
  await engine.stop()
  // A start needs room for itself; the index finds none in what is left.
  truncateSync(ballast, statSync(ballast).size - (1 << 20))
  engine = await RealEngine.start(life, { data_dir })
  for (const name of ['first', ...answered]) assert.equal((await engine.flow(name)).name, name)

  for (const path of [ballast, join(disk, 'more')]) rmSync(path)
  for (const name of answered) {
    const mark = name.replace('words', 'mark')
    await eventually(`${name} is found`, async () => (await found(`${mark}mark`)).some(one => one.startsWith(name)))
  }
})

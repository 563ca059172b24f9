import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ROOT } from './kit/sources.ts'
import { directoryFor, eventually, isAlive, Spawned } from './kit/spawned.ts'

describe('a test that fails leaves no process', () => {
  for (const how of ['throws outside of the test', 'exits', 'is killed'])
    test(`when it ${how}`, async t => {
      const cwd = directoryFor(t)
      const told = join(cwd, 'processes')
      const argv = ['--disable-warning=ExperimentalWarning', '--test', join(ROOT, 'test/kit/failing-test.ts')]
      const run = new Spawned(t, process.execPath, argv, { cwd, environment: { TOLD: told, HOW: how } })
      assert.equal((await run.ended).code, 1, run.stdout)
      const processes = JSON.parse(readFileSync(told, 'utf8')) as number[]
      assert.equal(processes.length, 3, 'a supervisor, its engine, and a process for bodies')
      await eventually('none of them is alive', () => !processes.some(isAlive))
    })
})

test('what was skipped is told at the end, by what it needs', async t => {
  const cwd = directoryFor(t)
  const file = join(cwd, 'some.test.ts')
  const lines = [
    "import { test } from 'node:test'",
    "test('one', { skip: 'needs git, which is not installed' }, () => {})",
    "test('two', t => t.skip('needs git, which is not installed'))",
    "test('three', t => t.skip('needs the right to mount'))",
    "test('four', () => {})",
  ]
  writeFileSync(file, lines.join('\n'))
  const reporter = `--test-reporter=${join(ROOT, 'test/skipped.ts')}`
  const argv = ['--disable-warning=ExperimentalWarning', '--test', reporter, '--test-reporter-destination=stdout', file]
  const run = new Spawned(t, process.execPath, argv, { cwd })
  assert.equal((await run.ended).code, 0, run.stderr)
  const told = run.stdout.split('\n').map(line => line.trim())
  assert.deepEqual(told.filter(Boolean), [
    'Skipped on this machine:',
    'needs git, which is not installed: 2 tests in some.test.ts',
    'needs the right to mount: 1 test in some.test.ts',
  ])
})

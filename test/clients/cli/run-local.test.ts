import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FlowDocument } from '../../../protocol/nouns/flow-document.ts'
import type { Run } from '../../../protocol/nouns/run.ts'
import { RealEngine } from '../../kit/real-engine.ts'
import { directoryFor, Spawned } from '../../kit/spawned.ts'

/** Waits as long as it is told, or until it is cancelled. */
const WAITER: FlowDocument = {
  nodes: [
    {
      id: 'wait',
      type: 'code',
      source: `export default async ({ x, wait_s }, ctx) => {
        await new Promise(resolve => {
          setTimeout(resolve, wait_s * 1000)
          ctx.signal.addEventListener('abort', resolve)
        })
        return { y: 2 * x }
      }`,
      ports: {
        inputs: [
          { name: 'x', dtype: 'float' },
          { name: 'wait_s', dtype: 'float' },
        ],
        outputs: [{ name: 'y', dtype: 'float' }],
      },
    },
  ],
  inputs: [
    { message: 'x', dtype: 'float' },
    { message: 'wait_s', dtype: 'float', default: 0 },
  ],
}

test('svc run --local runs the flow in an engine of its own, which goes with it, and never beside another one', async t => {
  const cwd = directoryFor(t)
  const data_dir = join(cwd, '.svc')
  const start = (...argv: string[]): Spawned =>
    Spawned.svc(t, { argv: ['run', 'waiter', '--local', ...argv], cwd, environment: { SVC_URL: 'http://127.0.0.1:1' } })
  const isGone = (): boolean => !existsSync(join(data_dir, 'engine.json'))

  const before = await RealEngine.start(t, { data_dir })
  await before.save('waiter', WAITER)
  const beside = start('-p', 'x=1')
  assert.equal((await beside.ended).code, 3)
  assert.ok(beside.stderr.includes(`answers at ${before.url} for ${data_dir}`), beside.stderr)
  before.process.child.kill('SIGTERM')
  await before.process.ended

  const plain = start('-p', 'x=21')
  assert.equal((await plain.ended).code, 0, plain.stderr)
  assert.equal(plain.stdout, 'message  value\ny        42\n')
  assert.match(plain.stderr, /^svc: run \S+ succeeded in .*$/m)
  assert.ok(isGone())

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const stopped = start('-p', 'x=1', '-p', 'wait_s=600', '--follow')
    await stopped.stderrShows('status=running')
    stopped.child.kill(signal)
    assert.equal((await stopped.ended).code, 130, stopped.stderr)
    assert.match(stopped.stderr, /cancelling run .*ends the engine\n(.*\n)*.*run \S+ cancelled/)
    assert.ok(isGone())
  }

  const after = await RealEngine.start(t, { data_dir })
  const { items } = (await after.ask('GET', '/runs')).json as { items: Run[] }
  assert.deepEqual(
    items.map(({ status, cause, inputs }) => [status, cause, inputs['x']]),
    [
      ['cancelled', 'cli', 1],
      ['cancelled', 'cli', 1],
      ['succeeded', 'cli', 21],
    ],
  )
})

test('svc run --local of a flow that is not there makes the installation, tells its password once, and ends with 3', async t => {
  const cwd = directoryFor(t)
  const first = Spawned.svc(t, { argv: ['run', 'nothing', '--local'], cwd })
  assert.equal((await first.ended).code, 3)
  assert.match(first.stderr, /^svc: user +admin, password \S+ \(shown once\)\nsvc: There is no flow "nothing"/)
  assert.ok(existsSync(join(cwd, '.svc', 'key.pem')) && !existsSync(join(cwd, '.svc', 'engine.json')))
})

test('svc run --local with what makes no sense beside it ends with 2 and starts nothing', async t => {
  const cwd = directoryFor(t)
  for (const argv of [['--no-wait'], ['--url', 'http://127.0.0.1:1']]) {
    const run = Spawned.svc(t, { argv: ['run', 'waiter', '--local', ...argv], cwd })
    assert.equal((await run.ended).code, 2, run.stderr)
  }
  assert.ok(!existsSync(join(cwd, '.svc')))
})

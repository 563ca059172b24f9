import assert from 'node:assert/strict'
import { test } from 'node:test'
import { code, flow, input, output } from '../../kit/live-story.ts'
import { RealEngine } from '../../kit/real-engine.ts'
import { directoryFor, Spawned } from '../../kit/spawned.ts'

test('without a terminal svc top prints the figures once, as lines or as JSON', async t => {
  const engine = await RealEngine.start(t)
  const failing = code('body', `export default () => { throw new Error('no level') }`, [input('x')], [output('y')])
  await engine.save('pump', flow([failing], { message: 'x', dtype: 'json' }))
  await engine.save('tank', flow([], { message: 'x', dtype: 'json' }))
  await engine.publish('pump.x', 1)
  await engine.error('pump.body')
  const top = async (...words: string[]): Promise<string> => {
    const argv = ['top', '--data-dir', engine.data_dir, ...words]
    const spawned = Spawned.svc(t, { cwd: directoryFor(t), argv })
    assert.equal((await spawned.ended).code, 0, spawned.stderr)
    return spawned.stdout
  }
  const lines = await top()
  assert.match(lines, /^engine \d+\.\d+\.\d+ at http:.*: 2 of 2 flows live, /)
  assert.match(lines, /^pump +[\d.]+ .* 1 failed$/m)
  assert.match(lines, /^issue pump\.body: Error: no level/m)
  const { flows, issues } = JSON.parse(await top('--json'))
  assert.deepEqual(
    flows.map((each: { flow: string; errors: number }) => [each.flow, each.errors]),
    [
      ['pump', 1],
      ['tank', 0],
    ],
  )
  assert.equal(issues[0].source, 'pump.body')
})

test('svc top ends with 4 when there is no engine', async t => {
  const cwd = directoryFor(t)
  const spawned = Spawned.svc(t, { cwd, argv: ['top', '--url', 'http://127.0.0.1:9'] })
  assert.equal((await spawned.ended).code, 4)
  assert.match(spawned.stderr, /No engine answers at http:\/\/127\.0\.0\.1:9/)
})

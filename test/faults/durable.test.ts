import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { FlowsClient } from '../kit/flows-client.ts'
import { body, flowOf, RealEngine } from '../kit/real-engine.ts'
import { directoryFor, Endings } from '../kit/spawned.ts'

test('what was published durably is there after a kill right behind the answer, over HTTP, in lists and on sockets', async t => {
  const data_dir = join(directoryFor(t), 'data')
  const killed = new Endings()
  t.after(() => killed.end())
  const engine = await RealEngine.start(killed, { data_dir })
  await engine.save('f', flowOf(body('n', 'export default () => {}', { reads: ['x'] })))
  const socket = await FlowsClient.connect(engine.port, engine.token)
  t.after(() => socket.close())
  const expected: number[] = []
  for (let round = 0; round < 5; round++) {
    const value = round * 10
    await engine.publish('f.x', value, { durable: true })
    const list = [
      { name: 'f.x', value: value + 1, durable: true },
      { name: 'f.x', value: value + 2 },
    ]
    assert.equal((await engine.ask('POST', '/messages/', list)).status, 202)
    assert.equal((await socket.publish('f.x', value + 3, { durable: true }))['type'], 'ack')
    expected.push(value, value + 1, value + 2, value + 3)
  }
  await engine.kill()
  const next = await RealEngine.start(t, { data_dir })
  assert.deepEqual(
    (await next.history('f.x')).items.map(point => (point as { value: unknown }).value),
    expected,
  )
})

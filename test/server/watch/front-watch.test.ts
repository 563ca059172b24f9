import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { FrontWatch } from '../../../server/watch/front-watch.ts'
import { eventually } from '../../kit/live-engine.ts'

/** Of the processor, however loaded the machine is. */
function work(ms: number): void {
  const until = process.threadCpuUsage().user + ms * 1000
  while (process.threadCpuUsage().user < until);
}

test('what an engine did before it was watched is no stretch, and what comes after it is', async t => {
  const logged: unknown[] = []
  const watch = new FrontWatch({ log: { warn: (_event, told) => logged.push(told) }, look_ms: 5 })
  t.after(() => watch.stop())
  work(3 * limits.FRONT_HELD_MS)
  watch.start()
  let looks = 0
  const counted = setInterval(() => looks++, 5)
  t.after(() => clearInterval(counted))
  await eventually(() => looks > 3, 'it has looked')
  assert.deepEqual([watch.counts().stretches, logged], [0, []])
  work(3 * limits.FRONT_HELD_MS)
  await eventually(() => watch.counts().stretches === 1, 'it has seen what held the front')
})

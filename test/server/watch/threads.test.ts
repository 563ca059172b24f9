import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CalledThread } from '../../../server/watch/called-thread.ts'
import { ThreadWatch, type WatchedThread } from '../../../server/watch/thread-watch.ts'
import type { PlayRequest } from '../../kit/called-thread-module.ts'
import { refused } from '../../kit/live-story.ts'
import { LogDouble } from '../../kit/served-front.ts'
import { directoryFor, eventually } from '../../kit/spawned.ts'

function called(t: TestContext) {
  const fails_while = join(directoryFor(t), 'fails')
  const module = new URL('../../kit/called-thread-module.ts', import.meta.url)
  const thread = new CalledThread<PlayRequest>({ name: 'reader', module, worker_data: { fails_while } })
  t.after(() => thread.close())
  return { thread, fails_while }
}

function watching(...threads: WatchedThread[]) {
  const events: [type: string, thread: unknown][] = []
  const announce = (type: string, _: string | null, more: Record<string, unknown>): void =>
    void events.push([type, more['thread']])
  return { watch: new ThreadWatch({ silent_ms: 300, log: new LogDouble(), announce }, threads), events }
}

test('a thread that fails at its start costs what was asked of it; the next request starts another one', async t => {
  const { thread, fails_while } = called(t)
  writeFileSync(fails_while, '')
  assert.equal(await refused(thread.call('answer')), 'store_failed')
  rmSync(fails_while)
  assert.equal(await thread.call('answer'), 'answered')
})

test('the end of a thread refuses what was asked of it, and nothing that its successor was asked', async t => {
  const { thread } = called(t)
  const lost = refused(thread.call('die'))
  assert.equal(await lost, 'store_failed')
  assert.deepEqual(await Promise.all([thread.call('answer'), thread.call('answer')]), ['answered', 'answered'])
})

test('a thread that hangs is noticed, ended and replaced; what waited for it is refused, and the event names it', async t => {
  const { thread } = called(t)
  const { watch, events } = watching(thread)
  assert.equal(await thread.call('answer'), 'answered')
  const stuck = refused(thread.call('hang'))
  await eventually('the thread has been replaced', () => {
    watch.look(performance.now())
    return events.length > 0
  })
  assert.deepEqual(events, [['thread_replaced', 'reader']])
  assert.equal(await stuck, 'store_failed')
  assert.equal(await thread.call('answer'), 'answered')
  assert.deepEqual(watch.silent, [])
})

test('a thread that nothing can replace is waited for: both its silence and its answer are told, once each', async () => {
  let answer = (): void => {}
  const told: string[] = []
  const { watch, events } = watching({
    name: 'store',
    isRunning: true,
    ping: () => new Promise<void>(resolve => (answer = resolve)),
    silent: () => {
      told.push('silent')
      return 'waits'
    },
    answers: () => told.push('answers'),
  })
  for (let now_ms = 1_000; now_ms < 3_000; now_ms += 250) watch.look(now_ms)
  assert.deepEqual([told, watch.silent], [['silent'], ['store']])
  answer()
  await eventually('it answers', () => watch.silent.length === 0)
  assert.deepEqual(told, ['silent', 'answers'])
  assert.deepEqual(events, [
    ['thread_silent', 'store'],
    ['thread_answers', 'store'],
  ])
})

test('nobody is blamed for the time in which the front itself was blocked', () => {
  const { watch, events } = watching({
    name: 'store',
    isRunning: true,
    ping: () => new Promise<void>(() => {}),
    silent: () => 'waits',
  })
  watch.look(1_000)
  watch.look(60_000)
  assert.deepEqual(events, [])
  for (const now_ms of [60_250, 60_500]) watch.look(now_ms)
  assert.deepEqual(events, [['thread_silent', 'store']])
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { ServiceError } from '../../../protocol/errors.ts'
import { checkedSource, checkSource } from '../../../threads/nodes/code.ts'
import { SourceThread } from '../../../threads/nodes/source-thread.ts'

const thread = new SourceThread()
after(() => thread.close())

const sources = [
  'export default ({ x }: { x: number }) => x',
  'enum A {}',
  'let y = ;',
  '',
  '// 漢😀\nexport default (x: "漢😀") => x',
]

const here = (source: string) => checkedSource('ts', source)
const there = (source: string) => thread.check({ language: 'ts', source })

test('the thread answers what a check here would, and no thread blocks for it', async () => {
  const answers = Promise.all(sources.map(there))
  let turns = 0
  const turning = setInterval(() => turns++, 0)
  assert.deepEqual(await answers, sources.map(here))
  clearInterval(turning)
  assert.ok(turns > 0, 'the event loop went on')
})

test('a source that breaks the stripper is refused, and the next one is checked', async () => {
  const hostile = [
    '{'.repeat(100_000),
    `export default ${'['.repeat(50_000)}`,
    'function f(){'.repeat(15_000),
    `export default ${'!'.repeat(200_000)}1`,
    `let x: ${'A<'.repeat(50_000)}`,
    '`${'.repeat(50_000),
  ]
  for (const source of hostile) {
    const refused = await there(source)
    assert.equal((refused as { code?: string }).code, 'syntax_error')
    assert.deepEqual(await there(sources[0]!), here(sources[0]!))
  }
})

test('a check that comes too late says nothing about the source, and those behind it are not lost', async () => {
  const hurried = new SourceThread(0)
  const checks = await Promise.allSettled(sources.map(source => hurried.check({ language: 'ts', source })))
  hurried.close()
  for (const [at, check] of checks.entries()) {
    if (check.status === 'fulfilled') assert.deepEqual(check.value, here(sources[at]!))
    else assert.deepEqual([check.reason.code, check.reason.status], ['check_late', 503])
  }
  assert.equal(checks[0]!.status, 'rejected', 'no thread starts within no time')
})

test('JavaScript nested too deeply to be parsed is refused', () => {
  for (const source of [
    '('.repeat(100_000),
    `export default ${'a=>'.repeat(60_000)}1`,
    `export default 1${'+1'.repeat(100_000)}`,
  ])
    assert.throws(
      () => checkSource('js', source),
      error => error instanceof ServiceError && error.code === 'syntax_error' && /nested too deeply/.test(error.detail),
    )
})

test('closed, it starts again when it is asked', async () => {
  thread.close()
  thread.close()
  assert.deepEqual(await there(sources[0]!), here(sources[0]!))
})

test('a thread that ends while it is idle is replaced by the next check', async () => {
  const started: Worker[] = []
  const note = (worker: Worker): number => started.push(worker)
  process.on('worker', note)
  const idle = new SourceThread()
  const check = (source: string) => idle.check({ language: 'ts', source })
  await check(sources[0]!)
  const exited = once(started[0]!, 'exit')
  await started[0]!.terminate()
  await exited
  assert.deepEqual(await check(sources[2]!), here(sources[2]!))
  process.off('worker', note)
  assert.equal(started.length, 2)
  idle.close()
})

test('every check that waits is refused when the thread is closed, and that says nothing about its source', async () => {
  const closing = new SourceThread()
  const checks = Promise.allSettled(sources.map(source => closing.check({ language: 'ts', source })))
  closing.close()
  for (const check of await checks)
    assert.deepEqual(check.status === 'rejected' && [check.reason.code, check.reason.status], ['check_late', 503])
  assert.deepEqual(await closing.check({ language: 'ts', source: sources[0]! }), here(sources[0]!))
  closing.close()
})

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Plan } from '../../../core/flow/plan.ts'
import { bodyOnThread, nodeOfBody } from '../../../server/lanes/find-body.ts'
import { bodyInStack } from '../../../threads/calls/node-call.ts'
import { eventually } from '../../kit/live-engine.ts'
import { directoryFor } from '../../kit/spawned.ts'

const DIGEST = 'd'.repeat(64)

const plan = (flow_index: number, ...nodes: [index: number, digest: string][]): Plan =>
  ({ flow_index, nodes: nodes.map(([index, digest]) => ({ index, digest })) }) as unknown as Plan

test('the stack of an exception names the body that it went through', async t => {
  const folder = join(directoryFor(t), 'bodies')
  mkdirSync(folder)
  writeFileSync(join(folder, `${DIGEST}.mjs`), 'export const throws = () => { throw new Error("mine") }')
  const { throws } = await import(pathToFileURL(join(folder, `${DIGEST}.mjs`)).href)
  assert.throws(throws, error => bodyInStack(error) === DIGEST)
  for (const other of [new Error('not mine'), 'words', null, { stack: 5 }]) assert.equal(bodyInStack(other), null)
})

test('of nodes that share a body it is one of a flow that the thread owned', () => {
  const plans = [plan(1, [10, 'a'], [11, DIGEST]), plan(2, [20, DIGEST])]
  assert.equal(
    nodeOfBody(DIGEST, plans, flow => flow === 2),
    20,
  )
  assert.equal(
    nodeOfBody(DIGEST, plans, () => false),
    11,
  )
  assert.equal(
    nodeOfBody('b', plans, () => true),
    null,
  )
  assert.equal(
    nodeOfBody(null, plans, () => true),
    null,
  )
})

for (const [what, source] of [
  ['spins behind an await', 'export default async at => { Atomics.store(at, 0, 1); for (;;) await null }'],
  ['never ends a loop', 'export default at => { Atomics.store(at, 0, 1); for (;;) {} }'],
  ['loops behind an await', 'export default async at => { await null; Atomics.store(at, 0, 1); for (;;) {} }'],
  ['waits for ever', 'export default at => { Atomics.store(at, 0, 1); Atomics.wait(at, 1, 0) }'],
] as const) {
  test(`a thread that ${what} is seen to be in its body`, async t => {
    const folder = join(directoryFor(t), 'bodies')
    mkdirSync(folder)
    const file = join(folder, `${DIGEST}.mjs`)
    writeFileSync(file, source)
    const entered = new Int32Array(new SharedArrayBuffer(8))
    const run = `import(process.getBuiltinModule('node:worker_threads').workerData.file).then(body => body.default(process.getBuiltinModule('node:worker_threads').workerData.entered))`
    const worker = new Worker(run, { eval: true, workerData: { file: pathToFileURL(file).href, entered } })
    t.after(() => worker.terminate())
    await eventually(() => Atomics.load(entered, 0) === 1, 'the body runs')
    assert.equal(await bodyOnThread(worker), DIGEST)
  })
}

test('a thread that was looked at goes on', async t => {
  const counted = new Int32Array(new SharedArrayBuffer(4))
  const run = `const { workerData } = process.getBuiltinModule('node:worker_threads')
    setInterval(() => { Atomics.add(workerData, 0, 1) }, 1)`
  const worker = new Worker(run, { eval: true, workerData: counted })
  t.after(() => worker.terminate())
  await eventually(() => Atomics.load(counted, 0) > 0, 'it counts')
  assert.equal(await bodyOnThread(worker), null)
  const then = Atomics.load(counted, 0)
  await eventually(() => Atomics.load(counted, 0) > then + 10, 'it counts on')
})

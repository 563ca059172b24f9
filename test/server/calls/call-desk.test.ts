import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { PlanNode } from '../../../core/flow/plan.ts'
import { MASK_TABLE_BYTES } from '../../../core/masks/table.ts'
import { type LiveBounds, liveBounds } from '../../../server/calls/bounds.ts'
import { CallDesk } from '../../../server/calls/call-desk.ts'
import type { RunCall } from '../../../server/calls/call-sink.ts'
import type { CallOutcome } from '../../../threads/lane/messages.ts'
import { eventually } from '../../kit/live-engine.ts'
import { directoryFor } from '../../kit/spawned.ts'

interface Called extends Pick<RunCall, 'end'> {
  readonly emitted: unknown[]
  readonly ended: Promise<CallOutcome>
}

/** Call slots, bodies by name, and which threads were lost with what. */
function slotsOf(t: TestContext, slots: number, bodies: Record<string, string>, bounds: Partial<LiveBounds> = {}) {
  const folder = directoryFor(t)
  for (const [name, source] of Object.entries(bodies)) writeFileSync(join(folder, `${name}.mjs`), source)
  const lost: [node: string, code: string][] = []
  const calls = new CallDesk({
    slots,
    bodies: folder,
    artifacts: { folder, max_bytes: 0 },
    bounds: { ...liveBounds, ...bounds },
    operator: process.env,
    body_user: null,
    exchange: null,
    failed: () => {},
    environment: () => ({}),
    secret: () => null,
    masks: new SharedArrayBuffer(MASK_TABLE_BYTES),
    now_us: () => Date.now() * 1000,
    onLost: (node, code) => lost.push([node, code]),
  })
  t.after(() => calls.close())
  const call = (node: PlanNode, x: unknown): Called => {
    const emitted: unknown[] = []
    const { promise, resolve } = Promise.withResolvers<CallOutcome>()
    const running = calls.run(
      { flow: 'f', run: { id: 'r' }, node, inputs: { x }, grant: null },
      {},
      {
        emitted: (outputs, processed) => {
          emitted.push(outputs)
          processed()
        },
        note: () => {},
        metrics: () => {},
        lines: () => {},
        artifact: () => {},
        ended: resolve,
      },
    )
    return { emitted, ended: promise, end: (code, message) => running.end(code, message) }
  }
  return { calls, call, lost }
}

const nodeOf = (body: string, settings: Record<string, unknown> = {}, id = body): PlanNode =>
  ({
    id,
    qualified: `f.${id}`,
    settings,
    digest: body,
    change_key: JSON.stringify(settings),
    timeout_s: null,
    resources: { env: {} },
    isolation: null,
    outputs: [{ port: 'x', dtype: 'float' }],
  }) as unknown as PlanNode

const outputsOf = async ({ ended }: Called): Promise<unknown> => {
  const outcome = await ended
  assert.equal(outcome.type, 'returned', JSON.stringify(outcome))
  return (outcome as { outputs?: unknown }).outputs
}

const failureOf = async ({ ended }: Called) => {
  const outcome = await ended
  return outcome.type === 'threw' ? { code: outcome.failure.code, message: outcome.failure.message } : null
}

const UNTIL_TOLD = `export default ({ x }, ctx) =>
  new Promise(resolve => ctx.signal.addEventListener('abort', () => resolve({ x })))`

test('however many nodes come by, each call finds its own', async t => {
  const { call } = slotsOf(t, 1, { setting: 'export default ({ x }, { settings }) => ({ x: x + settings.of })' })
  const nodes = Array.from({ length: 1_100 }, (_, of) => nodeOf('setting', { of }, `n${of}`))
  const outcomes = await Promise.all([...nodes, ...nodes.toReversed()].map(node => outputsOf(call(node, 0.5))))
  const wanted = nodes.map((_, of) => ({ x: of + 0.5 }))
  assert.deepEqual(outcomes, [...wanted, ...wanted.toReversed()])
})

test('what runs when modules are to be loaded again finishes where it is; what comes afterwards does not wait for it', async t => {
  const { calls, call, lost } = slotsOf(t, 1, {
    until_told: UNTIL_TOLD,
    thread: `import { threadId } from 'node:worker_threads'\nexport default () => ({ x: threadId })`,
  })
  const before = await outputsOf(call(nodeOf('thread'), 0))
  const running = call(nodeOf('until_told'), 1)
  const waiting = call(nodeOf('thread'), 0)
  calls.refresh()
  assert.notDeepEqual(await outputsOf(call(nodeOf('thread'), 0)), before)
  running.end('cancelled', 'Cancelled by ann.')
  assert.equal((await failureOf(running))?.code, 'cancelled')
  assert.deepEqual(await outputsOf(waiting), before)
  assert.deepEqual(lost, [])
})

test('a call that is given to a thread which a timer of an earlier body keeps begins on another one', async t => {
  const { calls, call, lost } = slotsOf(
    t,
    1,
    {
      leaves: `export default ({ x }) => {
        setTimeout(() => { Atomics.store(x, 0, 1); for (;;); }, 1)
        return { x: 1 }
      }`,
      same: 'export default ({ x }) => ({ x })',
    },
    { slot_begin_ms: 200 },
  )
  const watched = setInterval(() => calls.watch(), 50)
  t.after(() => clearInterval(watched))
  const keeps = new Int32Array(new SharedArrayBuffer(4))
  await outputsOf(call(nodeOf('leaves'), keeps))
  await eventually(() => Atomics.load(keeps, 0) === 1, 'the timer keeps the thread')
  const timed = { ...nodeOf('same'), timeout_s: 10 }
  const outputs: unknown[] = []
  for (const x of [5, 6]) void outputsOf(call(timed, x)).then(output => outputs.push(output))
  await eventually(() => outputs.length === 2, 'both calls run')
  assert.deepEqual(new Set(outputs), new Set([{ x: 5 }, { x: 6 }]))
  assert.deepEqual(lost, [['f.leaves', 'thread_lost']])
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { PlanNode } from '../../core/flow/plan.ts'
import type { ErrorCode } from '../../protocol/errors.ts'
import { BodyCall, type CallPlaces } from '../../server/calls/body-call.ts'
import { RunSink } from '../../server/calls/call-sink.ts'
import type { CallOutcome } from '../../threads/lane/messages.ts'

/** What every kind of place must be able to run; `x` is a number. */
export const BODIES = {
  /** Answers what it is given. */
  same: 'export default ({ x }) => ({ x })',
  /** Emits 1 and 2, waits each time until that has run, then answers 3. */
  emits: 'export default async (_, ctx) => { await ctx.emit({ x: 1 }); await ctx.emit({ x: 2 }); return { x: 3 } }',
  /** Answers when it is told to end. */
  until_told: `export default ({ x }, ctx) => new Promise(resolve => {
    ctx.emit({ x: 0 })
    if (ctx.signal.aborted) resolve({ x })
    else ctx.signal.addEventListener('abort', () => resolve({ x }))
  })`,
  /** Emits, then runs for ever and hears nothing. */
  deaf: `export default async (_, ctx) => {
    ctx.emit({ x: 0 })
    await new Promise(resolve => setTimeout(resolve, 20))
    for (;;);
  }`,
  /** Emits twice, then takes its place along. */
  dies: `export default async (_, ctx) => {
    for (const x of [1, 2]) ctx.emit({ x })
    await new Promise(resolve => setTimeout(resolve, 20))
    process.exit(3)
  }`,
} as const
export type BodyName = keyof typeof BODIES

/** A grace that no body which listens exceeds, and one that a test can wait for. */
const PATIENT_MS = 30_000
const SHORT_MS = 100

export interface OpenedPlaces {
  readonly places: CallPlaces
  /** Ends what is there, whatever it does. */
  close(): Promise<void>
}

interface Called {
  readonly call: BodyCall
  readonly emitted: unknown[]
  /** Resolves with the first emission: the body runs. */
  readonly began: Promise<void>
  readonly ended: Promise<CallOutcome>
}

/** Each story is told on places of its own, with the bodies of `BODIES`, each under its name as digest. */
export function callPlaceStories(
  kind: string,
  open: (t: TestContext, places: number) => Promise<OpenedPlaces>,
  /** What a place says that took its call along. */
  died: ErrorCode,
): void {
  async function opened(t: TestContext, places: number, grace_ms = PATIENT_MS) {
    const { places: line, close } = await open(t, places)
    const lost: [node: string, code: string][] = []
    const calls = new Set<BodyCall>()
    t.after(async () => {
      for (const call of calls) call.kill('interrupted', 'The test ends.')
      await close()
    })
    const parts = {
      places: line,
      grace_ms,
      placeLost: (node: string, code: string) => lost.push([node, code]),
      left: (call: BodyCall) => calls.delete(call),
    }
    const run = (body: BodyName, x: number, more: Partial<PlanNode> = {}, inputs: object = { x }): Called => {
      const emitted: unknown[] = []
      const began = Promise.withResolvers<void>()
      const { promise, resolve } = Promise.withResolvers<CallOutcome>()
      const node = nodeOf(body, more)
      const listener = {
        emitted: (outputs: unknown, processed: () => void) => {
          emitted.push(outputs)
          began.resolve()
          processed()
        },
        note: () => {},
        metrics: () => {},
        lines: () => {},
        artifact: () => {},
        ended: resolve,
      }
      const sink = new RunSink(listener, node.qualified, {}, () => call.tell({ type: 'processed' }))
      const request = { flow: 'f', run: { id: 'r' }, node, inputs: { ...inputs }, state: {}, grant: null, port: null }
      const call = new BodyCall(parts, request, sink)
      calls.add(call)
      call.start()
      return { call, emitted, began: began.promise, ended: promise }
    }
    return { run, lost, calls, close }
  }

  test(`${kind}: a call runs, what it emits comes in order, and its place serves the next`, async t => {
    const { run, lost } = await opened(t, 1)
    const all = [run('emits', 0), run('same', 7), run('same', 8)]
    assert.deepEqual(await Promise.all(all.map(outputsOf)), [{ x: 3 }, { x: 7 }, { x: 8 }])
    assert.deepEqual(all[0]!.emitted, [{ x: 1 }, { x: 2 }])
    assert.deepEqual(lost, [])
  })

  test(`${kind}: a call that waits and is told to end leaves the line; no place ends for it, and who came after has its turn`, async t => {
    const { run, lost } = await opened(t, 1)
    const [first, second, third, fourth] = [run('until_told', 1), run('same', 2), run('same', 3), run('same', 4)]
    second!.call.end('cancelled', 'Not wanted.')
    third!.call.kill('interrupted', 'Not wanted at all.')
    assert.deepEqual([await codeOf(second!), await codeOf(third!)], ['cancelled', 'interrupted'])
    await first!.began
    first!.call.end('cancelled', 'Cancelled by ann.')
    assert.equal(await codeOf(first!), 'cancelled')
    assert.deepEqual(await outputsOf(fourth!), { x: 4 })
    assert.deepEqual(lost, [])
  })

  test(`${kind}: a body past its timeout is told and fails, and its place serves the next`, async t => {
    const { run, lost } = await opened(t, 1)
    const listens = run('until_told', 1, { timeout_s: 0.1 })
    const waits = run('same', 3)
    assert.equal(await codeOf(listens), 'timeout')
    assert.deepEqual(await outputsOf(waits), { x: 3 })
    assert.deepEqual(lost, [])
  })

  test(`${kind}: a body that does not listen loses its place after the grace, and who waits gets another`, async t => {
    const { run, lost } = await opened(t, 1, SHORT_MS)
    const deaf = run('deaf', 2)
    const waits = run('same', 3)
    await deaf.began
    deaf.call.end('timeout', 'Too late.')
    assert.equal(await codeOf(deaf), 'timeout')
    assert.deepEqual(await outputsOf(waits), { x: 3 })
    assert.deepEqual(lost, [['f.deaf', 'timeout']])
  })

  test(`${kind}: the first reason to end a call is the one that it ends with`, async t => {
    const { run } = await opened(t, 1)
    const deaf = run('deaf', 1)
    await deaf.began
    deaf.call.end('cancelled', 'Cancelled by ann.')
    deaf.call.end('timeout', 'Too late.')
    deaf.call.kill('interrupted', 'The engine is stopping.')
    assert.equal(await codeOf(deaf), 'cancelled')
    deaf.call.kill('interrupted', 'It has ended.')
    assert.equal(deaf.call.mode, 'ended')
  })

  test(`${kind}: a body that takes its place along takes its own call and no other: what it said is heard first`, async t => {
    const { run, lost } = await opened(t, 1)
    const dies = run('dies', 0)
    const waits = run('same', 7)
    assert.equal(await codeOf(dies), died)
    assert.deepEqual(dies.emitted, [{ x: 1 }, { x: 2 }])
    assert.deepEqual(await outputsOf(waits), { x: 7 })
    assert.deepEqual(lost, [['f.dies', died]])
  })

  test(`${kind}: a call that cannot be handed over fails alone`, async t => {
    const { run, lost } = await opened(t, 1)
    const bad = run('same', 0, {}, { x: () => 'no value' })
    const good = run('same', 1)
    assert.equal((await bad.ended).type, 'threw')
    assert.deepEqual(await outputsOf(good), { x: 1 })
    assert.deepEqual(lost, [])
  })

  test(`${kind}: the end of all places ends what runs and what waits, each with the reason, and nothing is left`, async t => {
    const { run, calls, close } = await opened(t, 2)
    const all = [run('deaf', 1), run('until_told', 2), run('same', 3)]
    await Promise.all([all[0]!.began, all[1]!.began])
    for (const call of [...calls]) call.kill('interrupted', 'The engine is stopping.')
    await close()
    assert.deepEqual(await Promise.all(all.map(codeOf)), ['interrupted', 'interrupted', 'interrupted'])
    assert.equal(calls.size, 0)
  })
}

const nodeOf = (body: BodyName, more: Partial<PlanNode>): PlanNode =>
  ({
    id: body,
    qualified: `f.${body}`,
    language: 'js',
    settings: {},
    digest: body,
    change_key: body,
    timeout_s: null,
    inputs: [{ port: 'x', dtype: 'json' }],
    outputs: [{ port: 'x', dtype: 'float' }],
    resources: { cpus: null, gpus: null, ram: null, env: {}, flavor: null },
    isolation: null,
    ...more,
  }) as unknown as PlanNode

async function outputsOf({ ended }: Called): Promise<unknown> {
  const outcome = await ended
  assert.equal(outcome.type, 'returned', JSON.stringify(outcome))
  return (outcome as { outputs?: unknown }).outputs
}

async function codeOf({ ended }: Called): Promise<string | null> {
  const outcome = await ended
  return outcome.type === 'threw' ? outcome.failure.code : null
}

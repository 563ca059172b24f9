/**
 * The exhaustive interleaving search: two threads, every schedule with up to three preemptions.
 *
 * A scenario is a file of its own whose default export says what each thread does and what must never come out:
 *
 *     // test/core/memory/counter.scenario.ts
 *     import * as atomics from '#atomics'
 *     import { scenario } from '../../kit/scenario.ts'
 *     export default scenario({
 *       prepare(memory) { memory.i32[100] = 0 },                       // once; its bytes come back before every schedule
 *       threads: [
 *         memory => () => atomics.add(memory.i32, 100, 1),             // outside: setting up, not stepped
 *         memory => () => atomics.add(memory.i32, 100, 1),             // inside: stepped; answers plain JSON
 *       ],
 *       check(memory, [first, second]) { assert.equal(memory.i32[100], 2); assert.notEqual(first, second) },
 *     })
 *
 *     // in the test
 *     const found = await explore(new URL('./counter.scenario.ts', import.meta.url))
 *     assert.ok(found.schedules > 50)
 *
 * The code under test imports its atomics from `#atomics`; in the two worker threads that is core/memory/atomics.stepped.ts.
 * Before and after every atomic operation is a step, and the plain code between two operations is one piece. A wait with an
 * end ends only when nothing else can run or the other thread spins, so it never hides a lost wake: count on `wait` without
 * an end to find those (the search says that both threads wait). A spin must call `atomics.pause()`.
 *
 * What it does not see: two plain accesses in another order than the program's, and a store that shows later than a look
 * behind it, since only one thread runs at a time. The first needs a release or an acquire, the second a full barrier; a
 * stress test with real threads looks for those.
 *
 * `killAtEachStep` runs the first thread alone, ends it at its first step, its second, and so on until it gets through, and
 * calls back after each death, for recovery and a look at what is left.
 */
import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import { ACTOR_STATE, SEARCH } from '../../core/memory/atomics.stepped.ts'
import { attachMemory, createMemory, type Memory } from '../../core/memory/region.ts'
import { tinySizes } from './memory.ts'
import type { Scenario } from './scenario.ts'
import { QUICKLY } from './spawned.ts'

const RESULT_BYTES = 64 * 1024
const REAL_DEATHS = process.env['LONG'] === undefined ? 10 : 1

export interface Found {
  /** Schedules run. */
  schedules: number
  /** Steps of the longest one. */
  steps: number
  /** What `check` answered, counted: which outcomes there are. */
  outcomes: Map<string, number>
}

interface Stage {
  memory: Memory
  control: Int32Array
  results: Uint8Array
  workers: Worker[]
  restore(): void
  scenario: Scenario
}

/** Runs all schedules; throws with the order of steps when a check fails, both threads wait, or one never ends. */
export async function explore(
  url: URL,
  { preemptions = 3, most = 100_000 }: { preemptions?: number; most?: number } = {},
): Promise<Found> {
  const stage = await setUp(url, [0, 1])
  const found: Found = { schedules: 0, steps: 0, outcomes: new Map() }
  try {
    // a plan is the steps at which the running thread is preempted; each is reached from exactly one shorter one
    const plans: { first: number; steps: number[] }[] = [
      { first: 0, steps: [] },
      { first: 1, steps: [] },
    ]
    for (let plan = plans.pop(); plan !== undefined; plan = plans.pop()) {
      const log = run(stage, plan.first, plan.steps, found)
      if (++found.schedules > most) assert.fail(`more than ${most} schedules: make the scenario smaller`)
      found.steps = Math.max(found.steps, log.length)
      if (plan.steps.length === preemptions) continue
      const from = plan.steps.length === 0 ? 1 : plan.steps[plan.steps.length - 1]! + 1
      for (let at = from; at < log.length; at++)
        if ((log[at]! & 2) !== 0) plans.push({ first: plan.first, steps: [...plan.steps, at] })
    }
  } finally {
    await Promise.all(stage.workers.map(worker => worker.terminate()))
  }
  return found
}

/**
 * Ends the first thread at each of its steps; answers at how many. Every tenth death is a real terminate(), in the long
 * form of the tests every one; the others are a throw through the code under test, which leaves the same memory.
 */
export async function killAtEachStep(url: URL, after: (memory: Memory, step: number) => void): Promise<number> {
  let stage = await setUp(url, [0])
  try {
    for (let step = 0; ; step++) {
      const real = step % REAL_DEATHS === 0
      const { control } = stage
      reset(control)
      control[SEARCH.stop_at] = step
      control[SEARCH.stop_by_throw] = real ? 0 : 1
      stage.restore()
      begin(stage, 0)
      waitUntil(control, SEARCH.done, value => value >= 1)
      if (control[SEARCH.state] !== ACTOR_STATE.stopped) return step
      if (real) await Promise.all(stage.workers.map(worker => worker.terminate()))
      try {
        after(stage.memory, step)
      } catch (error) {
        assert.fail(`killed at step ${step}: ${error instanceof Error ? error.stack : error}`)
      }
      if (real) stage = await setUp(url, [0])
    }
  } finally {
    await Promise.all(stage.workers.map(worker => worker.terminate()))
  }
}

async function setUp(url: URL, actors: number[]): Promise<Stage> {
  const { default: scenario } = (await import(url.href)) as { default: Scenario }
  const memory = createMemory({ ...tinySizes, ...scenario.sizes })
  scenario.prepare?.(memory)
  const kept = Buffer.from(memory.bytes)
  const control = new Int32Array(new SharedArrayBuffer(SEARCH.words * 4))
  const results = new Uint8Array(new SharedArrayBuffer(2 * RESULT_BYTES))
  const workers = actors.map(
    me =>
      new Worker(new URL('./interleave-thread.ts', import.meta.url), {
        execArgv: ['--conditions=interleave', ...QUICKLY],
        workerData: { url: url.href, sab: memory.sab, control, results, me },
      }),
  )
  await Promise.all(
    workers.map(
      worker =>
        new Promise<void>((resolve, reject) => {
          worker.once('message', () => resolve())
          worker.once('error', reject)
        }),
    ),
  )
  return {
    memory: attachMemory(memory.sab),
    control,
    results,
    workers,
    scenario,
    restore() {
      memory.bytes.set(kept)
    },
  }
}

/** All but `go`: an actor may still be on its way to wait for it, and would take any other number for its call. */
function reset(control: Int32Array): void {
  control.fill(0, 0, SEARCH.go)
  control.fill(0, SEARCH.go + 2, SEARCH.log)
}

/** Lets the actors set up, then gives the first one the baton. */
function begin(stage: Stage, first: number): void {
  const { control } = stage
  stage.workers.forEach((_, me) => {
    Atomics.add(control, SEARCH.go + me, 1)
    Atomics.notify(control, SEARCH.go + me)
  })
  waitUntil(control, SEARCH.ready, value => value === stage.workers.length)
  Atomics.store(control, SEARCH.baton + first, 1)
  Atomics.notify(control, SEARCH.baton + first)
}

function run(stage: Stage, first: number, plan: readonly number[], found: Found): Int32Array {
  const { control, scenario } = stage
  stage.restore()
  reset(control)
  control[SEARCH.stop_at] = -1
  control[SEARCH.planned] = plan.length
  control.set(plan, SEARCH.plan)
  begin(stage, first)
  waitUntil(control, SEARCH.done, value => value === 2)
  const log = control.slice(SEARCH.log, SEARCH.log + control[SEARCH.step]!)
  const results = [0, 1].map(me => JSON.parse(readResult(stage.results, me)))
  try {
    for (const { error } of results) if (error !== undefined) assert.fail(error)
    const outcome = scenario.check(
      stage.memory,
      results.map(result => result.answer),
    )
    const key = JSON.stringify(outcome ?? null)
    found.outcomes.set(key, (found.outcomes.get(key) ?? 0) + 1)
  } catch (error) {
    assert.fail(`${error instanceof Error ? error.message : error}\nafter the schedule ${tell(log)}`)
  }
  return log
}

function readResult(results: Uint8Array, me: number): string {
  const at = me * RESULT_BYTES
  const length = new DataView(results.buffer).getInt32(at)
  return Buffer.from(results.slice(at + 4, at + 4 + length)).toString()
}

function waitUntil(control: Int32Array, word: number, holds: (value: number) => boolean): void {
  for (;;) {
    const value = Atomics.load(control, word)
    if (holds(value)) return
    if (Atomics.wait(control, word, value, 20_000) === 'timed-out') assert.fail('the threads of the search stand still')
  }
}

/** `0 x5, 1 x3, 0 x7`: who took how many steps in turn. */
function tell(log: Int32Array): string {
  const turns: string[] = []
  for (let at = 0, begun = 0; at < log.length; at++)
    if (at + 1 === log.length || (log[at]! & 1) !== (log[at + 1]! & 1)) {
      turns.push(`${log[at]! & 1} x${at + 1 - begun}`)
      begun = at + 1
    }
  return turns.join(', ')
}

import assert from 'node:assert/strict'
import { totalmem } from 'node:os'
import { describe, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { ResourceAmounts } from '../../../protocol/nouns/run.ts'
import { formatTime } from '../../../protocol/time.ts'
import { localMachine } from '../../../server/calls/local-machine.ts'
import type { Grant, ResourceDesk, Waited } from '../../../server/calls/resource-desk.ts'
import { ownMachine } from '../../kit/resources-double.ts'

const START_US = 1_767_225_600_000_000
const ask = (cpus: number | null, gpus: number | null = null, ram_mb: number | null = null): ResourceAmounts => ({
  cpus,
  gpus,
  ram_mb,
  flavor: null,
})
/** A machine with four cores, two cards and 1000 MB. */
function machine() {
  const events: Partial<EngineEvent>[] = []
  const clock = { now_us: START_US }
  return { desk: ownMachine(events, clock), events, clock }
}
const claim = (desk: ResourceDesk, asked: ResourceAmounts, node = 'f.n', run: string | null = 'r1'): Waited =>
  desk.claim({ node, run, asked, device: null })
/** What came of it by now. */
async function now(waited: Waited): Promise<Grant | 'waits' | string> {
  const error = (reason: unknown): string => (reason instanceof ServiceError ? reason.code : String(reason))
  return Promise.race([waited.promise.catch(error), new Promise<'waits'>(resolve => setImmediate(resolve, 'waits'))])
}
const granted = async (waited: Waited): Promise<Grant> => {
  const found = await now(waited)
  assert.ok(typeof found === 'object', `it is not granted: ${found}`)
  return found
}

describe('a node that asks for resources', () => {
  test('holds what it was granted until it is released, and that shows', async () => {
    const { desk, events } = machine()
    const grant = await granted(claim(desk, ask(1.5, 1, 250)))
    assert.deepEqual(grant, { ticket: 1, machine: 'local', cards: [0], granted: ask(1.5, 1, 250) })
    const { machines, waiting } = desk.resources()
    assert.deepEqual(machines, [
      {
        machine: 'local',
        capacity: { cpus: 4, gpus: 2, ram_mb: 1000 },
        free: { cpus: 2.5, cards: [1], ram_mb: 750 },
        held: [{ node: 'f.n', run: 'r1', cpus: 1.5, cards: [0], ram_mb: 250, since: machines[0]!.held[0]!.since }],
      },
    ])
    assert.ok(machines[0]!.held[0]!.since >= formatTime(START_US))
    assert.deepEqual([waiting, events], [[], []])
    desk.release(grant)
    desk.release(grant)
    assert.deepEqual(desk.resources().machines[0]!.free, { cpus: 4, cards: [0, 1], ram_mb: 1000 })
  })

  test('waits for its turn, with an event, its place in the line and what it needs', async () => {
    const { desk, events } = machine()
    const first = await granted(claim(desk, ask(3)))
    const second = claim(desk, ask(2, 1), 'f.second')
    const third = claim(desk, { ...ask(64), flavor: 'huge' }, 'g.third', null)
    assert.equal(await now(second), 'waits')
    assert.deepEqual(events, [
      { type: 'node_queued', flow: 'f', node: 'f.second', run: 'r1', needs: ask(2, 1), position: 1 },
      { type: 'node_queued', flow: 'g', node: 'g.third', run: null, needs: { ...ask(4), flavor: 'huge' }, position: 2 },
    ])
    const { waiting } = desk.resources()
    assert.deepEqual(
      waiting.map(({ node, run, asked, needs, position }) => [node, run, asked.cpus, needs.cpus, position]),
      [
        ['f.second', 'r1', 2, 2, 1],
        ['g.third', null, 64, 4, 2],
      ],
    )
    assert.ok(waiting[0]!.since < waiting[1]!.since)
    desk.release(first)
    const next = await granted(second)
    assert.equal(await now(third), 'waits')
    desk.release(next)
    assert.deepEqual((await granted(third)).granted, { ...ask(4), flavor: 'huge' })
  })

  test('that no machine could grant is cut down to the largest, with both known', async () => {
    const { desk } = machine()
    const grant = await granted(claim(desk, ask(64, 8, 5000)))
    assert.deepEqual([grant.granted, grant.cards], [ask(4, 2, 1000), [0, 1]])
  })

  test('for nothing that is counted never waits and holds nothing', async () => {
    const { desk } = machine()
    await granted(claim(desk, ask(4, 2, 1000)))
    const grant = await granted(claim(desk, ask(null, 0)))
    assert.deepEqual([grant.ticket, grant.granted], [0, ask(null, 0)])
    desk.release(grant)
    assert.equal(desk.resources().machines[0]!.held.length, 1)
  })

  test('for a thousandth of a core and some KB holds at least that, and of a document of before for half a card a whole one', async () => {
    const { desk } = machine()
    const grant = await granted(claim(desk, ask(0.0001, 0.5, 0.0001)))
    assert.deepEqual([grant.cards, grant.granted], [[0], ask(0.0001, 1, 0.0001)])
    const { free } = desk.resources().machines[0]!
    assert.deepEqual([free.cpus, free.ram_mb], [3.999, 1000 - 1 / 1024])
  })
})

describe('who waits', () => {
  test('is shown up to a number, counted beyond it, and found by its run', async () => {
    const { desk } = machine()
    await granted(claim(desk, ask(4)))
    const all = Array.from({ length: limits.WAITING_NODES_SHOWN + 40 }, (_, at) =>
      claim(desk, ask(1), `f.n${at}`, `run ${at % 100}`),
    )
    all.push(desk.claim({ node: 'f.far', run: 'run 7', asked: ask(null), device: 'rig' }))
    const every = desk.resources()
    assert.deepEqual([every.waiting.length, every.waiting_count], [limits.WAITING_NODES_SHOWN, all.length])
    const of_run = desk.resources('run 7')
    assert.deepEqual(
      of_run.waiting.map(({ node, position }) => `${node} ${position}`),
      ['f.n7 8', 'f.n107 108', 'f.n207 208', 'f.n307 308', 'f.n407 408', 'f.n507 508', 'f.far 1'],
    )
    assert.equal(of_run.waiting_count, all.length)
    for (const one of all) {
      one.promise.catch(() => {})
      one.cancel()
    }
  })

  test('and is cancelled leaves the line, and those behind it move up', async () => {
    const { desk } = machine()
    const holder = await granted(claim(desk, ask(4)))
    const [first, second] = [claim(desk, ask(1)), claim(desk, ask(1))]
    assert.equal(first.cancel(), true)
    assert.equal(first.cancel(), false)
    assert.equal(await now(first), 'cancelled')
    assert.deepEqual(
      desk.resources().waiting.map(({ position }) => position),
      [1],
    )
    desk.release(holder)
    assert.equal(second.cancel(), false, 'it was granted before')
    desk.release(await granted(second))
    assert.equal(desk.resources().machines[0]!.held.length, 0)
  })

  test('and lets nobody pass makes way for them when it is cancelled', async () => {
    const { desk, clock } = machine()
    await granted(claim(desk, ask(2)))
    const head = claim(desk, ask(3))
    clock.now_us += limits.BOOK_HEAD_MS * 1000
    const late = claim(desk, ask(1))
    assert.equal(await now(late), 'waits')
    head.cancel()
    await granted(late)
    assert.equal(await now(head), 'cancelled')
  })

  test('is served in order even when the books have no room for all of them', async () => {
    const { desk } = machine()
    const holder = await granted(claim(desk, ask(4)))
    const line = Array.from({ length: 40 }, (_, at) => claim(desk, ask(4), `f.n${at}`))
    assert.deepEqual(
      desk.resources().waiting.map(({ node, position }) => `${node} ${position}`),
      line.map((_, at) => `f.n${at} ${at + 1}`),
    )
    assert.equal(line[35]!.cancel(), true)
    assert.equal(await now(line[35]!), 'cancelled')
    let held = holder
    for (const [at, one] of line.entries()) {
      if (at === 35) continue
      desk.release(held)
      held = await granted(one)
    }
    assert.deepEqual(desk.resources().waiting, [])
  })

  test('is told of each time in a run, and once in a while when it is live', async () => {
    const { desk, events, clock } = machine()
    await granted(claim(desk, ask(4)))
    for (let at = 0; at < 5; at++) claim(desk, ask(1), 'f.live', null)
    for (let at = 0; at < 3; at++) claim(desk, ask(1), 'f.run', 'r1')
    clock.now_us += limits.NODE_QUEUED_EVERY_MS * 1000
    for (let at = 0; at < 5; at++) claim(desk, ask(1), 'f.live', null)
    assert.deepEqual(
      events.map(({ node, position }) => `${node} ${position}`),
      ['f.live 1', 'f.run 6', 'f.run 7', 'f.run 8', 'f.live 9'],
    )
  })

  test('when the engine ends waits for nothing more', async () => {
    const { desk } = machine()
    const holder = await granted(claim(desk, ask(4)))
    const line = Array.from({ length: 40 }, () => claim(desk, ask(1)))
    desk.close()
    for (const one of line) assert.equal(await now(one), 'interrupted')
    desk.release(holder)
    assert.deepEqual(desk.resources().waiting, [])
  })
})

test("the engine's own machine has the cores and cards that are configured, and no more memory than the system gives", () => {
  const { cpus, gpus, ram_mb } = localMachine({ cpus: 6, gpus: 200 })
  assert.deepEqual([cpus, gpus], [6, limits.MACHINE_CARDS])
  assert.ok(ram_mb > 0 && ram_mb <= totalmem() / 2 ** 20)
})

describe('a node that names a device', () => {
  test('waits for a worker that carries the label, says so, and holds nobody else back', async () => {
    const { desk, events } = machine()
    const waited = desk.claim({ node: 'f.n', run: 'r1', asked: ask(1), device: 'bench' })
    assert.equal(await now(waited), 'waits')
    assert.partialDeepStrictEqual(events, [{ type: 'node_queued', node: 'f.n', run: 'r1', device: 'bench' }])
    const after = await granted(claim(desk, ask(4)))
    assert.partialDeepStrictEqual(desk.resources().waiting, [{ node: 'f.n', run: 'r1', device: 'bench', position: 1 }])
    desk.release(after)
    assert.equal(await now(waited), 'waits')
    waited.cancel()
    assert.equal(await now(waited), 'cancelled')
    assert.deepEqual(desk.resources().waiting, [])
  })

  test('is told of when the engine ends', async () => {
    const { desk } = machine()
    const waited = desk.claim({ node: 'f.n', run: null, asked: ask(null), device: 'bench' })
    desk.close()
    assert.equal(await now(waited), 'interrupted')
  })
})

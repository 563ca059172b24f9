import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MASK_TABLE_BYTES, Masks } from '../../../core/masks/table.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import type { FlowNode, NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import type { CallListener } from '../../../server/calls/call-sink.ts'
import { Coordinator } from '../../../server/runs/coordinator.ts'
import { queuedRun } from '../../../server/runs/run-view.ts'
import { StageCache } from '../../../server/runs/stage-cache.ts'
import type { ClaimRun, FinishRun, RunStore, SetUnbegun, StoredRun } from '../../../server/store/front/runs.ts'
import type { RunCallRequest } from '../../../threads/lane/messages.ts'
import { checked, code, planOf } from '../../kit/flow-documents.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { ownMachine } from '../../kit/resources-double.ts'
import { newRun } from '../../kit/stored-runs.ts'

/**
 * The real coordinator, executions, places, books and stage cache under a random schedule: which write is answered next, and which body ends
 * next, is drawn. Against rules in plain words: never more runs execute than there are places, a body runs only while the store knows that its
 * run has begun, cards are held by one node, and every run ends, whatever waits for whatever.
 */
const ROUNDS = process.env['LONG'] === undefined ? 20 : 1000
const RUNS = 24
const EPOCH = 3

interface Stored {
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'
  unbegun: boolean
}
interface Body {
  readonly run: string
  readonly node: string
  readonly cards: readonly number[]
  readonly listener: CallListener
  ended: boolean
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

class World {
  readonly random: () => number
  readonly places: number
  readonly stored = new Map<string, Stored>()
  readonly bodies = new Set<Body>()
  /** Writes on their way, in order: the store answers the first one. */
  readonly writes: (() => void)[] = []
  readonly begun_order: string[] = []
  readonly coordinator: Coordinator
  readonly defects: unknown[] = []
  readonly machine = ownMachine()
  readonly #documents = new Map<string, NormalDocument>()
  readonly #nodes = new Map<string, FlowNode[]>()

  constructor(round: number) {
    this.random = randomFrom(seed + round)
    this.places = 1 + this.below(3)
    this.coordinator = new Coordinator({
      store: this.#store(),
      cache: new StageCache({
        store: { cached: async () => [], cacheIndex: async () => ({ origins: [], complete: true }) },
        hasArtifact: () => true,
      }),
      now_us: () => 1,
      desk: { run: (request, _state, listener) => this.#call(request, listener) },
      resources: this.machine,
      flavorOf: () => null,
      max_runs: this.places,
      epoch: EPOCH,
      runnable: async flow => {
        if (this.below(15) === 0) throw new ServiceError('flow_not_found', 'It is gone.')
        return {
          plan: planOf(this.#nodes.get(flow)!, { flow, digest: id => id }),
          document: this.#documents.get(flow)!,
        }
      },
      codeDigest: async () => null,
      note: () => {},
      announce: () => {},
      tell: () => {},
      isWatched: () => false,
      logged: () => {},
      keepArtifact: () => 'stored',
      secretsOf: () => [],
      masks: new Masks(new SharedArrayBuffer(MASK_TABLE_BYTES)),
      onDefect: error => this.defects.push(error),
    })
  }

  below(count: number): number {
    return Math.floor(this.random() * count)
  }

  /** A chain and a branch; some nodes ask for cards, for all of them even, and for cores. */
  flow(at: number): string {
    const name = `f${at}`
    const resources = (): object => {
      const kind = this.below(5)
      if (kind === 0) return { gpus: 1 }
      if (kind === 1) return { gpus: 2 }
      return kind === 2 ? { cpus: 1 + this.below(4) } : {}
    }
    const nodes: FlowNode[] = []
    const count = 1 + this.below(4)
    for (let position = 0; position < count; position++) {
      const reads = position === 0 ? 'given' : `m${this.below(position)}`
      nodes.push({
        ...code(`n${position}`, reads, `m${position}`),
        resources: resources(),
        cache: this.below(2) === 0,
      })
    }
    this.#nodes.set(name, nodes)
    this.#documents.set(name, checked({ nodes }))
    return name
  }

  create(flow: string): string {
    // Few different inputs: runs meet at the same keys of the stage cache.
    const given = this.below(3)
    const run = newRun(flow, { inputs: { given }, resolved: { given } })
    const stored = queuedRun(run, this.stored.size)
    this.stored.set(run.id, { status: 'queued', unbegun: false })
    this.coordinator.queued(stored)
    return run.id
  }

  #store(): RunStore {
    const write = <Result>(apply: () => Result): Promise<Result> =>
      new Promise(resolve =>
        this.writes.push(() => {
          resolve(apply())
        }),
      )
    const claim = ({ id }: ClaimRun) => {
      const run = this.stored.get(id)!
      if (run.status !== 'queued') return null
      run.status = 'running'
      this.begun_order.push(id)
      return { run: null }
    }
    const finish = ({ id, status }: FinishRun, then: ClaimRun | null) => {
      const run = this.stored.get(id)!
      assert.equal(run.status, 'running', `${id} ends once`)
      run.status = status
      return { finished: true, claimed: then === null ? null : claim(then) }
    }
    const double: Partial<RunStore> = {
      claim: asked => write(() => claim(asked)),
      finish: (ended, _progress, then) => write(() => finish(ended, then)),
      progress: () => write(() => null),
      setUnbegun: ({ id, unbegun }: SetUnbegun) =>
        write(() => {
          this.stored.get(id)!.unbegun = unbegun
          return null
        }),
    }
    return double as RunStore
  }

  #call({ run, node, grant }: RunCallRequest, listener: CallListener) {
    const body: Body = { run: run.id, node: node.id, cards: grant?.cards ?? [], listener, ended: false }
    const { status, unbegun } = this.stored.get(run.id)!
    assert.deepEqual([status, unbegun], ['running', false], 'the store knows that it has begun before its body runs')
    this.bodies.add(body)
    const executing = new Set([...this.bodies].map(({ run }) => run))
    assert.ok(executing.size <= this.places, `${executing.size} runs execute in ${this.places} places`)
    const held = [...this.bodies].flatMap(({ cards }) => cards)
    assert.equal(new Set(held).size, held.length, 'a card is held by one node alone')
    const end = (): void => this.end(body, true)
    return { end, kill: end }
  }

  end(body: Body, threw = this.below(12) === 0): void {
    if (body.ended) return
    body.ended = true
    this.bodies.delete(body)
    const ms = 1
    const outputs = Object.fromEntries([[`m${body.node.slice(1)}`, this.below(3)]])
    queueMicrotask(() =>
      body.listener.ended(
        threw
          ? { type: 'threw', failure: { code: 'node_error', message: 'no', stack: null } as never, state: {}, ms }
          : { type: 'returned', outputs, state: {}, ms },
      ),
    )
  }

  /** Whoever holds a place executes, unless its write is on its way. */
  async isAtRest(story: string): Promise<void> {
    for (let wait = 0; wait < 12; wait++) {
      await turn()
      if (this.writes.length > 0) return
    }
    const executing = new Set([...this.bodies].map(({ run }) => run))
    const { free } = this.coordinator.places
    assert.equal(this.places - free, executing.size, `no run that only waits holds a place: ${story}`)
    const queued = [...this.stored.values()].filter(({ status }) => status === 'queued').length
    assert.ok(free === 0 || queued === 0, `no queued run waits beside a free place: ${story}`)
  }

  isOver(id: string): boolean {
    return !['queued', 'running'].includes(this.stored.get(id)!.status)
  }
}

test(`runs, places and resources under random schedules, seed ${seed}`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const world = new World(round)
    const flows = [0, 1, 2].map(at => world.flow(at))
    const ids: string[] = []
    const story = `round ${round}, seed ${seed}`
    let idle = 0
    for (let step = 0; step < 5_000; step++) {
      const moves: (() => void)[] = []
      if (ids.length < RUNS) moves.push(() => ids.push(world.create(flows[world.below(3)]!)))
      if (world.writes.length > 0) moves.push(() => world.writes.shift()!())
      for (const body of world.bodies) moves.push(() => world.end(body))
      const live = ids.filter(id => !world.isOver(id) && world.stored.get(id)!.status === 'running')
      if (live.length > 0 && world.below(10) === 0)
        moves.push(() => {
          const id = live[world.below(live.length)]!
          world.coordinator.cancel({ id } as StoredRun, 'tests')
        })
      idle = moves.length === 0 ? idle + 1 : 0
      if (idle > 20) break
      moves[world.below(moves.length)]?.()
      // Some moves come together, before anybody hears of the first.
      if (moves.length === 0 || world.below(3) > 0) await turn()
      if (world.below(8) === 0) await world.isAtRest(story)
    }
    const left = ids.filter(id => !world.isOver(id))
    assert.deepEqual(
      [world.defects, left, ids.length, world.writes.length, world.bodies.size],
      [[], [], RUNS, 0, 0],
      `every run has ended: ${story}`,
    )
    assert.deepEqual(
      world.begun_order,
      ids.filter(id => world.begun_order.includes(id)),
      `in their order: ${story}`,
    )
    const { free, set_aside, wanting } = world.coordinator.places
    assert.deepEqual([free, set_aside, wanting], [world.places, 0, 0], `every place is free: ${story}`)
    const { machines, waiting } = world.machine.resources()
    assert.deepEqual([machines[0]!.held, waiting], [[], []], `nothing is held: ${story}`)
  }
})

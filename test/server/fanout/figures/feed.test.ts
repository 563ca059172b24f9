import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { Compile } from 'typebox/compile'
import {
  type EngineFigureValues,
  FigureBook,
  type FlowFigureValues,
} from '../../../../clients/client/live/figure-book.ts'
import { limits } from '../../../../protocol/limits.ts'
import { EngineFigures, FlowFigures, type FlowRow } from '../../../../protocol/socket/figures.ts'
import { FigureFeed } from '../../../../server/fanout/figures/feed.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { FrontDouble, type SocketDouble } from '../../../kit/socket-double.ts'

beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] }))
afterEach(() => mock.timers.reset())

const isFlowFrame = Compile(FlowFigures)
const isEngineFrame = Compile(EngineFigures)

interface FlowDouble {
  nodes: Map<string, { executions: number; down: string | null }>
  messages: Map<string, number>
}

/** Flows whose counts a test changes, and the feed over them. */
function room() {
  const flows = new Map<string, FlowDouble>()
  const clock = { ms: 0 }
  const taken = { flows: 0, engine: 0 }
  const nodesOf = (flow: FlowDouble) =>
    new Map(
      [...flow.nodes].map(([id, { executions, down }]) => [
        id,
        { executions, errors: 0, waiting_for_input: 0, down, error: false },
      ]),
    )
  const rowOf = (flow: FlowDouble): FlowRow => ({
    enabled: true,
    executions: [...flow.nodes.values()].reduce((sum, { executions }) => sum + executions, 0),
    errors: 0,
    published: 0,
    waiting: 0,
    issues: 0,
    down: [...flow.nodes.values()].filter(({ down }) => down !== null).length,
  })
  const ts = (): string => new Date(clock.ms).toISOString()
  const feed = new FigureFeed({
    source: {
      hasFlow: name => flows.has(name),
      *flow(name) {
        const flow = flows.get(name)
        if (flow === undefined) return null
        taken.flows++
        yield
        const head = { type: 'flow_figures' as const, ts: ts(), flow: name, enabled: true, waiting: 0, oldest_s: null }
        return { head: { ...head, share: 0 }, records: { nodes: nodesOf(flow), messages: new Map(flow.messages) } }
      },
      *engine() {
        taken.engine++
        yield
        const head = { type: 'engine_figures' as const, ts: ts(), status: 'ok' as const }
        const more = { runs: { running: 0, queued: 0 }, cascades_in_flight: 0, waiting_count: 0, rss_bytes: 1 }
        return {
          head: { ...head, ...more },
          records: { flows: new Map([...flows].map(([name, flow]) => [name, rowOf(flow)])) },
        }
      },
    },
    onDefect: error => assert.fail(String(error)),
    now_ms: () => clock.ms,
  })
  const front = new FrontDouble()
  const add = (name: string, ...ids: string[]): FlowDouble => {
    const flow: FlowDouble = {
      nodes: new Map(ids.map(id => [id, { executions: 0, down: null }])),
      messages: new Map([[`${name}.x`, 0]]),
    }
    flows.set(name, flow)
    return flow
  }
  /** All that is due in this time happens. Slices end by the real clock, so a round may take many turns of the event loop. */
  const pass = async (ms: number): Promise<void> => {
    for (let step = 0; step < ms; step += 50) {
      clock.ms += 50
      mock.timers.tick(50)
      for (let turn = 0; turn < 100; turn++) {
        await Promise.resolve()
        mock.timers.tick(0)
      }
    }
  }
  return { flows, feed, clock, taken, add, pass, rowOf, nodesOf, connect: () => front.connect() }
}

const figures = (socket: SocketDouble, type = 'flow_figures') => socket.frames(type)

test('figures come at once and then once a second: whole first, then what has changed', async () => {
  const { add, feed, pass, connect } = room()
  const boiler = add('boiler', 'pump', 'valve')
  const socket = connect()
  assert.deepEqual(feed.follow(socket, ['boiler'], false), { flows: ['boiler'], unknown: [] })
  await pass(50)
  assert.deepEqual(
    figures(socket).map(({ whole, nodes }) => [whole, Object.keys(nodes as object)]),
    [[true, ['pump', 'valve']]],
  )
  await pass(1000)
  boiler.nodes.get('pump')!.executions = 7
  boiler.messages.set('boiler.x', 3)
  await pass(1000)
  await pass(1000)
  const [, nothing, change, none, ...others] = figures(socket)
  assert.deepEqual(
    [nothing, change, none].map(frame => [frame!['whole'], frame!['nodes'], frame!['messages']]),
    [
      [false, {}, {}],
      [
        false,
        { pump: { executions: 7, errors: 0, waiting_for_input: 0, down: null, error: false } },
        { 'boiler.x': 3 },
      ],
      [false, {}, {}],
    ],
  )
  assert.deepEqual(others, [])
  assert.ok(figures(socket).every(frame => isFlowFrame.Check(frame)))
})

test('what is counted is taken and written once, however many follow it; nothing is while nobody does', async () => {
  const { add, feed, pass, connect, taken } = room()
  add('boiler', 'pump')
  await pass(3000)
  assert.deepEqual(taken, { flows: 0, engine: 0 })
  const sockets = Array.from({ length: 20 }, connect)
  for (const socket of sockets) feed.follow(socket, ['boiler'], true)
  await pass(3050)
  assert.ok(taken.flows <= 5 && taken.engine <= 5, JSON.stringify(taken))
  const texts = new Set(sockets.map(socket => JSON.stringify(socket.received)))
  assert.equal(texts.size, 1)
  for (const socket of sockets) feed.follow(socket, [], false)
  const before = { ...taken }
  await pass(3000)
  assert.deepEqual([taken, feed.size], [before, 0])
})

test('the engine has a row of each flow; a flow that went makes the next frame whole', async () => {
  const { add, feed, flows, pass, connect } = room()
  add('boiler', 'pump')
  const tank = add('tank', 'level')
  const socket = connect()
  feed.follow(socket, [], true)
  await pass(50)
  tank.nodes.get('level')!.executions = 2
  await pass(1000)
  flows.delete('boiler')
  await pass(1000)
  assert.deepEqual(
    figures(socket, 'engine_figures').map(({ whole, flows }) => [whole, Object.keys(flows as object)]),
    [
      [true, ['boiler', 'tank']],
      [false, ['tank']],
      [true, ['tank']],
    ],
  )
  assert.ok(figures(socket, 'engine_figures').every(frame => isEngineFrame.Check(frame)))
})

test('unknown flows are told and the others stand; a flow that is removed ends its figures with a word', async () => {
  const { add, feed, flows, pass, connect } = room()
  add('boiler', 'pump')
  add('tank', 'level')
  const socket = connect()
  const { flows: standing, unknown } = feed.follow(socket, ['boiler', 'gone', 'tank', 'boiler'], false)
  assert.deepEqual([standing, unknown.map(({ loc }) => loc)], [['boiler', 'tank'], ['gone']])
  await pass(50)
  flows.delete('tank')
  await pass(2000)
  const [error, ...more] = socket.frames('error')
  assert.deepEqual([(error!['problem'] as { code: string }).code, more], ['flow_not_found', []])
  assert.equal(figures(socket).filter(({ flow }) => flow === 'tank').length, 1)
  assert.equal(figures(socket).filter(({ flow }) => flow === 'boiler').length, 3)
})

test('whoever joins between two rounds is served soon, and the others once a second all the same', async () => {
  const { add, feed, pass, connect } = room()
  add('boiler', 'pump')
  const [early, late] = [connect(), connect()]
  feed.follow(early, ['boiler'], false)
  await pass(50)
  feed.follow(late, ['boiler'], false)
  await pass(limits.FIGURES_SOON_MS)
  assert.deepEqual([figures(early).length, figures(late).length], [1, 1])
  await pass(1000)
  assert.deepEqual([figures(early).length, figures(late).length], [2, 2])
  assert.equal(figures(late)[1]!['whole'], true)
})

/** What the program behind a socket knows: it puts frames together, and begins anew after a reconnect. */
class Program {
  readonly #book = new FigureBook()
  readonly flows = new Map<string, FlowFigureValues>()
  engine: EngineFigureValues | null = null
  socket: SocketDouble
  asked: { flows: string[]; engine: boolean } = { flows: [], engine: false }
  #read = 0
  #newest = ''

  constructor(socket: SocketDouble) {
    this.socket = socket
  }

  reconnect(socket: SocketDouble): void {
    this.socket = socket
    this.#read = 0
    this.#book.clear()
  }

  readAll(): void {
    for (const frame of this.socket.received.slice(this.#read)) {
      this.#read++
      const { type, ts } = frame as { type: string; ts: string }
      if (type === 'error') continue
      assert.ok(ts >= this.#newest, `${ts} after ${this.#newest}`)
      this.#newest = ts
      if (type === 'flow_figures') {
        const told = this.#book.flow(frame as FlowFigures)
        if (told !== null) this.flows.set(told.flow, told)
      } else this.engine = this.#book.engine(frame as EngineFigures) ?? this.engine
    }
  }
}

test('over reconnects, slow sockets, changes and removals every program ends with what is counted', async () => {
  const { pick, below, chance } = dice()
  const { add, feed, flows, nodesOf, rowOf, pass, connect } = room()
  const names = ['a', 'b', 'c', 'd']
  for (const name of names) add(name, 'one', 'two')
  // So long that two of them are more than a slow socket may have unread.
  flows.get('a')!.nodes.get('one')!.down = 'x'.repeat(limits.SOCKET_FIGURE_BYTES)
  const programs = Array.from({ length: 5 }, () => new Program(connect()))
  const follow = (program: Program): void => {
    program.asked.flows = feed.follow(program.socket, program.asked.flows, program.asked.engine).flows
  }
  for (let step = 0; step < 120; step++) {
    const program = pick(programs)
    const flow = flows.get(pick(names))
    switch (below(7)) {
      case 0:
        program.asked = { flows: names.filter(() => chance()), engine: chance() }
        follow(program)
        break
      case 1:
        feed.closed(program.socket)
        program.socket.end(1006, '')
        program.reconnect(connect())
        follow(program)
        break
      case 2:
        if (program.socket.reads) program.socket.reads = false
        else program.socket.read()
        break
      case 3: {
        const name = pick(names)
        if (!flows.delete(name)) add(name, 'one', pick(['two', 'three']))
        break
      }
      case 4:
        if (flow !== undefined) pick([...flow.nodes.values()]).down = pick([null, 'lost', 'x'.repeat(1000)])
        break
      default:
        if (flow !== undefined) {
          pick([...flow.nodes.values()]).executions += below(5)
          for (const name of flow.messages.keys()) flow.messages.set(name, below(1000))
        }
    }
    await pass(pick([0, 50, 300, 1000]))
    for (const each of programs) {
      const most = limits.SOCKET_FIGURE_BYTES * 3
      assert.ok(each.socket.bufferedAmount() < most, `seed ${seed}: ${each.socket.bufferedAmount()} bytes unread`)
    }
  }
  for (const each of programs) each.socket.read()
  await pass(2100)
  for (const each of programs) {
    each.readAll()
    for (const name of each.asked.flows) {
      const flow = flows.get(name)
      // Gone in between, so that its figures have ended, even if it is there again.
      if (flow === undefined || wasToldGone(each.socket, name)) continue
      const told = each.flows.get(name)!
      assert.deepEqual(told.nodes, Object.fromEntries(nodesOf(flow)), `seed ${seed}: nodes of ${name}`)
      assert.deepEqual(told.messages, Object.fromEntries(flow.messages), `seed ${seed}: messages of ${name}`)
    }
    if (!each.asked.engine) continue
    const rows = Object.fromEntries([...flows].map(([name, flow]) => [name, rowOf(flow)]))
    assert.deepEqual(sorted(each.engine!.flows), sorted(rows), `seed ${seed}: rows`)
  }
})

const sorted = (record: object): object =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
const wasToldGone = (socket: SocketDouble, flow: string): boolean =>
  socket.frames('error').some(({ problem }) => (problem as { detail: string }).detail.includes(`"${flow}"`))
const dice = () => {
  const random = randomFrom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  return { below, chance: () => random() < 0.5, pick: <T>(all: readonly T[]): T => all[below(all.length)]! }
}

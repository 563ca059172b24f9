import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Tile } from '../../../protocol/nouns/dashboard.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { Fanout } from '../../../server/fanout/fanout.ts'
import { FlowsSocket } from '../../../server/fanout/sockets/flows.ts'
import { PanelSockets } from '../../../server/panels/panel-sockets.ts'
import { tile } from '../../kit/panel-story.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { screens } from '../../kit/screens-double.ts'
import { FrontDouble, noActivity, noFigures, noLogs, type SocketDouble } from '../../kit/socket-double.ts'
import { newestScratch, ValuesDouble } from '../../kit/values-double.ts'

const NAMES = Array.from({ length: 12 }, (_, at) => `f${at % 3}.m${at}`)
const DASHBOARDS = ['a', 'b', 'c']
const STEPS = 1_500

test('a socket of a screen gets what its panel may read, all of what it asked for, and nothing else, whatever changes', async () => {
  const random = randomFrom(seed)
  const below = (most: number): number => Math.floor(random() * most)
  const oneOf = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
  const some = (): string[] => NAMES.filter(() => below(3) === 0)
  const front = new FrontDouble()
  const values = new ValuesDouble()
  const onDefect = (error: unknown): never => assert.fail(`seed ${seed}: ${String(error)}`)
  const { dashboards, panels } = await screens({ now_ms: () => 0 })
  const fanout = new Fanout({
    values,
    directory: values,
    decoder: createCodec(),
    scratch: newestScratch(),
    onDefect,
  })
  fanout.attach(front)
  const panel_sockets = new PanelSockets({
    fanout,
    directory: values,
    troubleOf: () => null,
    own: id => panels.own(id),
    onDefect,
  })
  panels.onScope(changes => panel_sockets.panelsChanged(changes.map(({ panel }) => panel)))
  const handlers = new FlowsSocket({
    fanout,
    panels: panel_sockets,
    figures: noFigures(),
    logs: noLogs(),
    activity: noActivity(),
    directory: values,
    onDefect,
    messages: { publish: () => [], publishDurably: async () => [] },
  })
  const documentOf = (names: readonly string[]) => ({
    locked: false,
    tiles: names.map((message, at): Tile => tile(`t${at}`, 'value', { message })),
  })
  for (const name of DASHBOARDS) await dashboards.save(name, documentOf(some()), undefined, 'tests')
  const ids: string[] = []
  for (const name of ['p', 'q']) ids.push((await panels.create({ name, dashboards: ['a'] }, 'tests')).id)
  interface Screen {
    socket: SocketDouble
    asked: Set<string>
    mayRead(name: string): boolean
  }
  let open: Screen[] = []
  const say = (screen: Screen, frame: unknown): boolean => {
    const before = screen.socket.frames('error').length
    handlers.message(screen.socket, JSON.stringify(frame))
    return screen.socket.frames('error').length === before
  }
  const settle = async (): Promise<void> => {
    await panel_sockets.settled()
    for (let turns = 0; turns < 4; turns++) await turn()
    values.deliver(fanout)
  }
  for (let step = 0; step < STEPS; step++) {
    const what = `seed ${seed}, step ${step}`
    const screen = open.length === 0 ? undefined : oneOf(open)
    switch (below(8)) {
      case 0:
        await dashboards.save(oneOf(DASHBOARDS), documentOf(some()), undefined, 'tests')
        break
      case 1:
        await panels.change(oneOf(ids), { dashboards: DASHBOARDS.filter(() => below(2) === 0) })
        break
      case 2: {
        const { principal } = panels.standing(oneOf(ids))!
        const socket = front.connectAs(principal)
        handlers.open(socket)
        open.push({ socket, asked: new Set(), mayRead: name => principal.reach.mayRead(name) })
        break
      }
      case 3: {
        if (screen === undefined) break
        const names = some()
        const isHave = below(3) === 0
        const versions = Object.fromEntries(names.map(name => [name, 0]))
        const isTaken = say(screen, isHave ? { type: 'have', versions } : { type: 'subscribe', names })
        assert.equal(isTaken, names.every(screen.mayRead), `${what}: ${names.join()}`)
        if (isTaken) for (const name of names) screen.asked.add(name)
        break
      }
      case 4: {
        if (screen === undefined) break
        const names = some()
        say(screen, { type: 'unsubscribe', names })
        for (const name of names) screen.asked.delete(name)
        break
      }
      case 5: {
        const name = oneOf(NAMES)
        const message = values.indexOf(name)
        if (message === -1) values.declare(name)
        else values.remove(message)
        const flow = name.slice(0, 2)
        fanout.flowChanged(flow, message === -1 ? [] : [message])
        panel_sockets.flowChanged(flow)
        break
      }
      case 6:
        if (screen === undefined || below(3) > 0) break
        handlers.close(screen.socket)
        screen.socket.end(1000, 'enough')
        open = open.filter(one => one !== screen)
        break
      default:
        break
    }
    await settle()
    for (const each of open) for (const name of each.asked) if (!each.mayRead(name)) each.asked.delete(name)
    for (const each of open) each.socket.received.splice(0)
    for (const name of NAMES) {
      const message = values.indexOf(name)
      if (message !== -1) values.publish(message, step)
    }
    values.deliver(fanout)
    await settle()
    for (const each of open) {
      const got = NAMES.filter(name => each.socket.values(name).some(({ value }) => value === step))
      const expected = NAMES.filter(name => each.asked.has(name) && values.indexOf(name) !== -1)
      assert.deepEqual(got, expected, what)
    }
    for (const id of ids) {
      const count = open.filter(({ socket }) => socket.caller.kind === 'panel' && socket.caller.id === id).length
      assert.equal(panel_sockets.connected(id), count, what)
    }
  }
  for (const { socket } of open) handlers.close(socket)
})

import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { ServiceError } from '../../../../protocol/errors.ts'
import { limits } from '../../../../protocol/limits.ts'
import { createCodec } from '../../../../protocol/values/codec.ts'
import { Fanout } from '../../../../server/fanout/fanout.ts'
import { FlowsSocket } from '../../../../server/fanout/sockets/flows.ts'
import { FrontDouble, noActivity, noFigures, noLogs, type SocketDouble } from '../../../kit/socket-double.ts'
import { newestScratch, ValuesDouble } from '../../../kit/values-double.ts'

beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] }))
afterEach(() => mock.timers.reset())

function room() {
  const front = new FrontDouble()
  const values = new ValuesDouble()
  values.declare('boiler.raw', 'boiler.smooth', 'tank.level')
  const clock = { ms: 0 }
  const fanout = new Fanout({
    values,
    directory: values,
    decoder: createCodec(),
    scratch: newestScratch(),
    onDefect: error => assert.fail(String(error)),
    now_ms: () => clock.ms,
  })
  fanout.attach(front)
  const defects: unknown[] = []
  const synced = Promise.withResolvers<void>()
  const publish = (items: readonly { name: string; value: unknown }[]) =>
    items.map(({ name, value }) => {
      const message = values.indexOf(name)
      if (message === -1) throw new ServiceError('message_not_found', `There is no message ${name}.`)
      if (value === 'full') throw new ServiceError('backlogged', 'Full.', { retry_after_s: 2 })
      if (value === 'defect') throw new RangeError('a defect')
      if (typeof value !== 'number') throw new ServiceError('wrong_dtype')
      return { name, version: values.publish(message, value) }
    })
  const handlers = new FlowsSocket({
    fanout,
    figures: noFigures(),
    logs: noLogs(),
    activity: noActivity(),
    directory: values,
    now_ms: () => clock.ms,
    onDefect: error => defects.push(error),
    messages: { publish, publishDurably: async items => synced.promise.then(() => publish(items)) },
  })
  const connect = (): SocketDouble => {
    const socket = front.connect()
    handlers.open(socket)
    return socket
  }
  const say = (socket: SocketDouble, frame: unknown): void => {
    handlers.message(socket, typeof frame === 'string' ? frame : JSON.stringify(frame))
    mock.timers.tick(1)
    values.deliver(fanout)
  }
  const problem = (socket: SocketDouble): Record<string, unknown> =>
    socket.frames('error').at(-1)!['problem'] as Record<string, unknown>
  return { front, values, fanout, handlers, clock, defects, synced, connect, say, problem }
}

test('a value published on one socket is acknowledged there and reaches another', () => {
  const { connect, say } = room()
  const [sensor, chart] = [connect(), connect()]
  say(chart, { type: 'subscribe', names: ['boiler.raw'] })
  say(sensor, { type: 'publish', id: 'r-1', name: 'boiler.raw', value: 20.5 })
  say(sensor, { type: 'publish', id: 2, name: 'boiler.raw', value: 21 })
  assert.deepEqual(sensor.received, [
    { type: 'ack', id: 'r-1', version: 1 },
    { type: 'ack', id: 2, version: 2 },
  ])
  assert.deepEqual(
    chart.values('boiler.raw').map(({ version, value }) => [version, value]),
    [
      [1, 20.5],
      [2, 21],
    ],
  )
})

test('a durable publish is acknowledged when it is on disk, others meanwhile; one that is refused says so', async () => {
  const { handlers, synced, connect, say, problem } = room()
  const [socket, gone] = [connect(), connect()]
  for (const id of [1, 2, 3])
    say(id === 3 ? gone : socket, {
      type: 'publish',
      id,
      name: 'boiler.raw',
      value: id === 2 ? 'warm' : id,
      durable: true,
    })
  say(socket, { type: 'publish', id: 4, name: 'boiler.raw', value: 4 })
  assert.deepEqual(
    socket.frames('ack').map(frame => frame['id']),
    [4],
  )
  handlers.close(gone)
  synced.resolve()
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
  assert.deepEqual(gone.frames('ack'), [])
  assert.deepEqual(
    socket.frames('ack').map(frame => frame['id']),
    [4, 1],
  )
  assert.deepEqual([socket.frames('error')[0]!['id'], problem(socket)['code']], [2, 'wrong_dtype'])
})

test('nothing is pushed that was not asked for', () => {
  const { connect, say, fanout } = room()
  const [sensor, idle] = [connect(), connect()]
  say(sensor, { type: 'publish', id: 1, name: 'boiler.raw', value: 1 })
  fanout.event({ type: 'node_down', ts: '', flow: 'boiler', run: null })
  assert.deepEqual(idle.received, [])
})

test('a subscription is answered with all that the connection follows, then with the present values', () => {
  const { connect, say, values } = room()
  values.publish(1, 7)
  const socket = connect()
  say(socket, { type: 'subscribe', names: ['tank.level'], flows: ['boiler'] })
  say(socket, { type: 'subscribe', events: true })
  say(socket, { type: 'unsubscribe', names: ['tank.level', 'tank.gone'], flows: ['boiler', 'gone'] })
  assert.deepEqual(
    socket.received.map(({ ts: _, ...frame }) => frame),
    [
      { type: 'subscribed', names: ['tank.level'], flows: ['boiler'], events: false },
      { type: 'message_value', name: 'boiler.smooth', version: 1, value: 7 },
      { type: 'subscribed', names: ['tank.level'], flows: ['boiler'], events: true },
      { type: 'subscribed', names: [], flows: [], events: true },
    ],
  )
})

test('an unknown name or flow refuses the whole frame and names it', () => {
  const { connect, say, problem, fanout } = room()
  const socket = connect()
  say(socket, { type: 'subscribe', names: ['boiler.raw', 'boiler.gone'] })
  assert.equal(problem(socket)['code'], 'message_not_found')
  assert.match(problem(socket)['detail'] as string, /boiler\.gone/)
  say(socket, { type: 'subscribe', names: ['boiler.raw'], flows: ['gone'], events: true })
  assert.equal(problem(socket)['code'], 'flow_not_found')
  assert.match(problem(socket)['detail'] as string, /gone/)
  assert.equal(fanout.of(socket)?.followed, 0)
  assert.equal(fanout.of(socket)?.events, false)
})

test('after a reconnect only what is newer than "have" says is sent', () => {
  const { connect, say, values } = room()
  for (let number = 1; number <= 4; number++) values.publish(0, number)
  values.publish(1, 1)
  const socket = connect()
  say(socket, { type: 'have', versions: { 'boiler.raw': 2, 'boiler.smooth': 1, 'boiler.gone': 3 } })
  say(socket, { type: 'subscribe', flows: ['boiler'] })
  assert.deepEqual(
    socket.frames('message_value').map(({ ts: _, ...frame }) => frame),
    [{ type: 'message_value', name: 'boiler.raw', version: 4, value: 4, missed: 1 }],
  )
  say(socket, { type: 'unsubscribe', flows: ['boiler'] })
  assert.deepEqual(socket.received.at(-1), { type: 'subscribed', names: [], flows: [], events: false })
  values.publish(0, 5)
  say(socket, { type: 'subscribe', events: false })
  assert.equal(socket.values('boiler.raw').length, 1)
})

test('a refused frame is answered with its problem, and the connection goes on', () => {
  const { connect, say, problem, defects } = room()
  const socket = connect()
  say(socket, { type: 'follow', names: ['boiler.raw'] })
  assert.equal(problem(socket)['code'], 'malformed_frame')
  say(socket, { type: 'publish', id: 9, name: 'boiler.raw', value: 'warm' })
  assert.deepEqual([socket.frames('error').at(-1)!['id'], problem(socket)['code']], [9, 'wrong_dtype'])
  say(socket, { type: 'publish', id: 10, name: 'boiler.raw', value: 'full' })
  assert.deepEqual(socket.frames('error').at(-1)!['retry_after_s'], 2)
  assert.deepEqual(defects, [])
  say(socket, { type: 'publish', id: 11, name: 'boiler.raw', value: 'defect' })
  assert.equal(problem(socket)['code'], 'internal')
  assert.equal(defects.length, 1)
  say(socket, { type: 'publish', id: 12, name: 'boiler.raw', value: 1 })
  assert.deepEqual(socket.frames('ack'), [{ type: 'ack', id: 12, version: 1 }])
})

test('a frame that is no JSON ends the connection, after its problem', () => {
  const { connect, say, problem } = room()
  const socket = connect()
  say(socket, '{"type":')
  assert.equal(problem(socket)['code'], 'malformed_json')
  assert.equal(socket.ended?.code, 1007)
})

test('a client whose frames are refused without end is cut off, one that meets a full flow is not', () => {
  const { connect, say, clock } = room()
  const [patient, wild, slow] = [connect(), connect(), connect()]
  for (let count = 0; count < 200; count++) {
    say(patient, { type: 'publish', id: 1, name: 'boiler.raw', value: 'full' })
    if (count <= limits.SOCKET_ERRORS) say(wild, { type: 'wild' })
    say(slow, { type: 'wild' })
    clock.ms += 100
  }
  assert.equal(patient.ended, null)
  assert.equal(slow.ended, null)
  assert.equal(wild.ended, null)
  for (let count = 0; count <= limits.SOCKET_ERRORS; count++) say(wild, { type: 'wild' })
  assert.deepEqual(wild.ended, { code: 1008, reason: 'more than 100 refused frames in 10 s' })
})

test('a client that publishes and never reads its answers is cut off', () => {
  const { connect, say, handlers } = room()
  const socket = connect()
  socket.reads = false
  mock.method(socket, 'bufferedAmount', () => limits.SOCKET_UNREAD_BYTES + 1)
  say(socket, { type: 'publish', id: 1, name: 'boiler.raw', value: 1 })
  assert.equal(socket.ended?.code, 1013)
  handlers.close(socket)
  say(socket, { type: 'publish', id: 1, name: 'boiler.raw', value: 1 })
})

test('a connection follows a bounded number of messages', () => {
  const { connect, say, values, problem, fanout } = room()
  const names = Array.from({ length: limits.SOCKET_NAMES }, (_, at) => `vast.m${at}`)
  values.declare(...names)
  const socket = connect()
  say(socket, { type: 'subscribe', names })
  assert.equal(fanout.of(socket)?.followed, limits.SOCKET_NAMES)
  say(socket, { type: 'subscribe', names: names.slice(0, 3) })
  assert.deepEqual(socket.frames('error'), [])
  say(socket, { type: 'subscribe', names: ['boiler.raw'] })
  assert.equal(problem(socket)['code'], 'too_large')
  say(socket, { type: 'have', versions: { 'boiler.raw': 1 } })
  assert.equal(socket.frames('error').length, 2)
})

test('whoever followed a removed message by name is told', () => {
  const { connect, say, values, fanout, problem } = room()
  const [named, flow] = [connect(), connect()]
  say(named, { type: 'subscribe', names: ['boiler.raw', 'tank.level'] })
  say(flow, { type: 'subscribe', flows: ['boiler'] })
  values.remove(0)
  fanout.flowChanged('boiler', [0])
  assert.match(problem(named)['detail'] as string, /boiler\.raw\./)
  assert.deepEqual(flow.frames('error'), [])
})

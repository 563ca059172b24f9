import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { limits } from '../../../../protocol/limits.ts'
import type { FlowActivity } from '../../../../protocol/socket/activity.ts'
import { ActivityFollowers } from '../../../../server/fanout/sockets/activity-followers.ts'
import { FrontDouble, type SocketDouble } from '../../../kit/socket-double.ts'

const activity = (flow: string, per_s: number): FlowActivity => ({
  flow,
  per_s,
  p99_s: null,
  waiting: 0,
  share: 0,
  down: 0,
  errors: 0,
})

function room(...flows: FlowActivity[]) {
  const source = {
    hasNewLines: false,
    engine: () => ({ type: 'activity' as const, ts: '', per_s: 0, cascades: { in_flight: 0, limit: 9 } }),
    flows: () => flows,
    line: (flow: string) => [flow.length],
    hasFlow: (flow: string) => flows.some(one => one.flow === flow),
    nodes: () => [{ id: 'a', per_s: 1, p99_s: null, last_minute: [3] }],
  }
  const followers = new ActivityFollowers(source, error => assert.fail(String(error)))
  const front = new FrontDouble()
  const look = async (): Promise<void> => {
    followers.looked()
    for (let turn = 0; turn < 60; turn++) await setImmediate()
  }
  return { flows, source, followers, look, connect: () => front.connect() }
}

/** The flows of the newest frame that has flows, with their rates; those with a line are marked. */
const told = (socket: SocketDouble): string[] => {
  const frame = socket.frames('activity').at(-1)!
  return (frame['flows'] as FlowActivity[]).map(
    ({ flow, per_s, last_minute }) => `${flow} ${per_s}${last_minute === undefined ? '' : ` ${last_minute}`}`,
  )
}

test('a follower gets every flow at first, then those whose figures have changed', async () => {
  const { flows, source, followers, look, connect } = room(activity('boiler', 5), activity('tank', 7))
  const [early, late] = [connect(), connect()]
  followers.follow(early, null)
  await look()
  assert.deepEqual(told(early), ['boiler 5 6', 'tank 7 4'])
  flows[1] = activity('tank', 8)
  followers.follow(late, null)
  await look()
  assert.deepEqual(told(early), ['tank 8'])
  assert.deepEqual(told(late), ['boiler 5 6', 'tank 8 4'])
  source.line = () => [1]
  await look()
  assert.deepEqual(told(early), [], 'a frame comes all the same: the engine is there')
  source.hasNewLines = true
  await look()
  assert.deepEqual(told(early), ['boiler 5 1', 'tank 8 1'])
})

test('a follower that reads slowly is left out, and then gets all of it', async () => {
  const { followers, look, connect } = room(activity('boiler', 5))
  const socket = connect()
  followers.follow(socket, null)
  await look()
  const { length } = socket.frames('activity')
  socket.bufferedAmount = () => limits.SOCKET_SLOW_BYTES + 1
  await look()
  assert.equal(socket.frames('activity').length, length)
  socket.bufferedAmount = () => 0
  await look()
  assert.deepEqual(told(socket), ['boiler 5 6'])
})

test('the figures of nodes come of one flow, the one that was named last', async () => {
  const { flows, followers, look, connect } = room(activity('boiler', 5), activity('tank', 7))
  const socket = connect()
  assert.throws(() => followers.follow(socket, 'none'), { code: 'flow_not_found' })
  await look()
  assert.deepEqual(told(socket), ['boiler 5 6', 'tank 7 4'], 'those of all flows come all the same')
  followers.follow(socket, 'boiler')
  followers.follow(socket, 'tank')
  await look()
  const nodes = () => socket.frames('activity').filter(frame => 'nodes' in frame)
  assert.deepEqual(
    nodes().map(frame => frame['nodes']),
    [{ flow: 'tank', items: [{ id: 'a', per_s: 1, p99_s: null, last_minute: [3] }] }],
  )
  flows.pop()
  await look()
  assert.equal(nodes().length, 1, 'the flow has gone')
})

test('thousands of flows come in parts, each flow once, and an end is an end', async () => {
  const all = Array.from({ length: 3_000 }, (_, at) => activity(`f${at}`, at))
  const { followers, look, connect } = room(...all)
  const socket = connect()
  followers.follow(socket, null)
  await look()
  const frames = socket.frames('activity')
  const names = frames.flatMap(frame => (frame['flows'] as FlowActivity[]).map(({ flow }) => flow))
  assert.deepEqual(
    names,
    all.map(({ flow }) => flow),
  )
  for (const { flows } of frames as { flows?: FlowActivity[] }[]) assert.ok(flows!.length <= limits.ACTIVITY_FLOWS)
  followers.unfollow(socket)
  await look()
  assert.equal(socket.frames('activity').length, frames.length)
})

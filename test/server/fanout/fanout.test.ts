import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { createCodec } from '../../../protocol/values/codec.ts'
import { KIND } from '../../../protocol/values/encoded.ts'
import { Fanout, type FanoutOptions } from '../../../server/fanout/fanout.ts'
import type { Follower } from '../../../server/fanout/follower.ts'
import { FrontDouble, type SocketDouble } from '../../kit/socket-double.ts'
import { newestScratch, ValuesDouble } from '../../kit/values-double.ts'

beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] }))
afterEach(() => mock.timers.reset())

/** Lets what was put off to a later phase of the event loop happen; no sweep is due yet. */
const turn = (): void => mock.timers.tick(1)
const SWEEP_MS = 10

function room(options: Partial<FanoutOptions> = {}) {
  const front = new FrontDouble()
  const values = new ValuesDouble()
  const clock = { ms: 0 }
  const fanout = new Fanout({
    values,
    directory: values,
    decoder: createCodec(),
    scratch: newestScratch(),
    onDefect: error => assert.fail(String(error)),
    now_ms: () => clock.ms,
    slow_bytes: 1_000,
    sweep_ms: SWEEP_MS,
    stalled_ms: 30_000,
    ...options,
  })
  fanout.attach(front)
  const join = (...names: string[]): { socket: SocketDouble; follower: Follower } => {
    const socket = front.connect()
    const follower = fanout.open(socket)
    for (const name of names) fanout.followName(follower, values.indexOf(name), 'asked')
    turn()
    return { socket, follower }
  }
  const sweep = (): void => {
    clock.ms += SWEEP_MS
    mock.timers.tick(SWEEP_MS)
  }
  /** Publishes so much that a socket that does not read stands over the bound. */
  const flood = (message: number, count = 12): void => {
    for (let number = 0; number < count; number++) values.publish(message, number)
    values.deliver(fanout)
  }
  const drained = (socket: SocketDouble): void => {
    socket.read()
    fanout.drained(socket)
    turn()
  }
  return { front, values, fanout, clock, join, sweep, flood, drained }
}

const versions = (socket: SocketDouble, name = 'boiler.raw'): number[] =>
  socket.values(name).map(({ version }) => version)

const ending = ({ ended }: SocketDouble): [number, string] | null => ended && [ended.code, ended.reason]

test('a follower gets every value once, in order, with its time', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw')
  const { socket } = join('boiler.raw')
  values.publish(raw, 20.5)
  values.publish(raw, -1e-7)
  values.deliver(fanout)
  assert.deepEqual(socket.received, [
    { type: 'message_value', ts: '2026-01-01T00:00:00.000000+00:00', name: 'boiler.raw', version: 1, value: 20.5 },
    { type: 'message_value', ts: '2026-01-01T00:00:00.000001+00:00', name: 'boiler.raw', version: 2, value: -1e-7 },
  ])
})

test('a value that nobody follows is neither encoded nor sent', () => {
  const { values, fanout, join } = room({
    decoder: {
      decode: () => assert.fail('decoded for nobody'),
    },
  })
  values.declare('boiler.raw', 'boiler.note')
  const { socket } = join('boiler.raw')
  const bytes = Buffer.from([0xc0])
  fanout.value({ subject: 1, version: 1, ts: 0, value_kind: KIND.json, number: 0, bytes, start: 0, length: 1 })
  assert.deepEqual(socket.received, [])
  assert.equal(fanout.counts().published, 0)
})

test('every kind of value travels as its JSON', () => {
  const codec = createCodec()
  const { values, fanout, join } = room({ decoder: codec })
  const message = values.declare('boiler.any')
  const { socket } = join('boiler.any')
  const scratch = newestScratch()
  const sent = [
    ['float', 0.1],
    ['int', -7],
    ['bool', true],
    ['bool', false],
    ['str', 'a "quoted" ü\n'],
    ['json', null],
    ['json', { deep: [1, { x: 'y' }] }],
  ] as const
  sent.forEach(([dtype, value], at) => {
    assert.equal(codec.encode(value, dtype, scratch), null)
    const { kind, number, bytes, length } = scratch
    fanout.value({ subject: message, version: at + 1, ts: 0, value_kind: kind, number, bytes, start: 0, length })
  })
  assert.deepEqual(
    socket.values('boiler.any').map(({ value }) => value),
    sent.map(([, value]) => value),
  )
})

test('a newcomer is given the present value at once', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw')
  for (let number = 0; number < 5; number++) values.publish(raw, number)
  values.deliver(fanout)
  const { socket } = join('boiler.raw')
  assert.deepEqual(socket.values('boiler.raw'), [{ version: 5, value: 4, missed: 0 }])
})

test('a newcomer that saw the table ahead of the journal gets nothing twice and nothing older', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw')
  const first = join('boiler.raw')
  for (let number = 0; number < 5; number++) values.publish(raw, number)
  values.deliver(fanout, 2)
  const second = join('boiler.raw')
  assert.deepEqual(versions(second.socket), [5])
  values.publish(raw, 5)
  values.deliver(fanout)
  assert.deepEqual(versions(first.socket), [1, 2, 3, 4, 5, 6])
  assert.deepEqual(versions(second.socket), [5, 6])
  assert.deepEqual(
    second.socket.values('boiler.raw').map(({ missed }) => missed),
    [0, 0],
  )
})

test('a newcomer between the journal and the table gets the newest value as soon as it is there', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw')
  join('boiler.raw')
  values.publish(raw, 1)
  values.begin(raw, 2)
  values.deliver(fanout)
  const { socket } = join('boiler.raw')
  assert.deepEqual(versions(socket), [1])
  values.flip()
  turn()
  assert.deepEqual(versions(socket), [1, 2])
  values.publish(raw, 3)
  values.deliver(fanout)
  assert.deepEqual(versions(socket), [1, 2, 3])
})

test('a newcomer ahead of a journal that was lapped learns what it missed itself', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw')
  const first = join('boiler.raw')
  for (let number = 0; number < 5; number++) values.publish(raw, number)
  values.deliver(fanout, 1)
  const second = join('boiler.raw')
  for (let number = 5; number < 9; number++) values.publish(raw, number)
  values.lose(6)
  values.deliver(fanout)
  assert.deepEqual(
    first.socket.values('boiler.raw').map(({ version, missed }) => [version, missed]),
    [
      [1, 0],
      [8, 6],
      [9, 0],
    ],
  )
  assert.deepEqual(
    second.socket.values('boiler.raw').map(({ version, missed }) => [version, missed]),
    [
      [5, 0],
      [8, 2],
      [9, 0],
    ],
  )
})

test('when the last values were lost, the newest comes from the message table', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw')
  const { socket } = join('boiler.raw')
  values.publish(raw, 1)
  values.deliver(fanout)
  for (let number = 2; number < 6; number++) values.publish(raw, number)
  values.lose(4)
  fanout.refreshAll()
  assert.deepEqual(socket.values('boiler.raw').at(-1), { version: 5, value: 5, missed: 3 })
})

test('an older value that comes late is left out and stays counted as missed', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw')
  const { socket } = join('boiler.raw')
  for (let number = 0; number < 3; number++) values.publish(raw, number)
  values.journal.reverse()
  values.deliver(fanout)
  assert.deepEqual(socket.values('boiler.raw'), [{ version: 3, value: 2, missed: 2 }])
  assert.equal(fanout.counts().skipped, 2)
})

test('a socket that follows a name and its flow gets each value once, also after one of the two ends', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw', 'boiler.smooth')
  const { socket, follower } = join('boiler.raw')
  fanout.followFlow(follower, 'boiler')
  turn()
  values.publish(raw, 1)
  values.deliver(fanout)
  fanout.unfollowFlow(follower, 'boiler')
  values.publish(raw, 2)
  values.publish(raw + 1, 2)
  values.deliver(fanout)
  assert.deepEqual(versions(socket), [1, 2])
  assert.deepEqual(versions(socket, 'boiler.smooth'), [])
  fanout.followFlow(follower, 'boiler')
  fanout.unfollowName(follower, raw)
  turn()
  values.publish(raw, 3)
  values.deliver(fanout)
  assert.deepEqual(versions(socket), [1, 2, 3])
})

test('messages that a flow gets later join its followers; removed ones leave, and whoever named them is told', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw')
  const { socket, follower } = join('boiler.raw')
  fanout.followFlow(follower, 'boiler')
  const late = values.declare('boiler.late')
  fanout.flowChanged('boiler', [])
  turn()
  values.publish(late, 1)
  values.deliver(fanout)
  assert.deepEqual(versions(socket, 'boiler.late'), [1])
  values.remove(raw)
  fanout.flowChanged('boiler', [raw])
  assert.match(JSON.stringify(socket.frames('error')), /message_not_found.*boiler\.raw\./)
  assert.deepEqual([...follower.live], [late])
})

test('what a client says it holds is not sent again, and what came since is counted', () => {
  const { values, fanout, front } = room()
  const raw = values.declare('boiler.raw', 'boiler.smooth')
  for (let number = 0; number < 5; number++) values.publish(raw, number)
  values.publish(raw + 1, 1)
  values.deliver(fanout)
  const socket = front.connect()
  const follower = fanout.open(socket)
  // In either order, as long as both come together.
  fanout.followName(follower, raw, 'asked')
  fanout.followName(follower, raw, 'resumed', 2)
  fanout.followName(follower, raw + 1, 'resumed', 1)
  turn()
  assert.deepEqual(socket.values('boiler.raw'), [{ version: 5, value: 4, missed: 2 }])
  assert.deepEqual(versions(socket, 'boiler.smooth'), [])
  values.publish(raw + 1, 2)
  values.deliver(fanout)
  assert.deepEqual(versions(socket, 'boiler.smooth'), [2])
})

test('a client that holds versions which a crash took from the engine is a newcomer', () => {
  const { values, fanout, front } = room()
  const raw = values.declare('boiler.raw')
  values.publish(raw, 1)
  values.deliver(fanout)
  const socket = front.connect()
  fanout.followName(fanout.open(socket), raw, 'resumed', 90)
  turn()
  assert.deepEqual(socket.values('boiler.raw'), [{ version: 1, value: 1, missed: 0 }])
})

test('a slow socket is taken off its topics and gets the newest value of each name once it has read', () => {
  const { values, fanout, join, sweep, flood, drained } = room()
  const raw = values.declare('boiler.raw', 'boiler.still')
  values.publish(raw + 1, 7)
  const slow = join('boiler.raw', 'boiler.still')
  const fast = join('boiler.raw')
  slow.socket.reads = false
  flood(raw)
  assert.equal(fanout.counts().slow, 0)
  sweep()
  assert.equal(fanout.counts().slow, 1)
  assert.equal(slow.socket.topics.size, 0)
  flood(raw)
  drained(slow.socket)
  assert.equal(fanout.counts().slow, 0)
  flood(raw, 1)
  assert.deepEqual(
    slow.socket.values('boiler.raw').map(({ version, missed }) => [version, missed]),
    [...Array.from({ length: 12 }, (_, at) => [at + 1, 0]), [24, 11], [25, 0]],
  )
  assert.deepEqual(versions(slow.socket, 'boiler.still'), [1])
  assert.equal(versions(fast.socket).length, 25)
})

test('a socket whose buffer only shrank stays slow until it is empty', () => {
  const { values, fanout, join, sweep, flood, drained } = room()
  const raw = values.declare('boiler.raw')
  const { socket } = join('boiler.raw')
  socket.reads = false
  flood(raw)
  sweep()
  socket.read(3)
  fanout.drained(socket)
  assert.equal(fanout.counts().slow, 1)
  drained(socket)
  assert.equal(fanout.counts().slow, 0)
})

test('engine events wait for a slow socket; the oldest go first and are counted', () => {
  const { values, fanout, join, sweep, flood, drained } = room()
  const raw = values.declare('boiler.raw')
  const { socket, follower } = join('boiler.raw')
  const quiet = join('boiler.raw')
  fanout.followEvents(follower)
  const event = (node: number) => fanout.event({ type: 'node_down', ts: '', flow: 'boiler', run: null, node })
  event(0)
  socket.reads = false
  flood(raw)
  sweep()
  for (let node = 1; node <= 300; node++) event(node)
  drained(socket)
  event(301)
  assert.deepEqual(socket.frames('events_missed'), [{ type: 'events_missed', count: 44 }])
  assert.deepEqual(
    socket.frames('node_down').map(frame => frame['node']),
    [0, ...Array.from({ length: 257 }, (_, at) => at + 45)],
  )
  assert.deepEqual(quiet.socket.frames('node_down'), [])
})

test('audit events go to superusers alone, when they ask for events, and wait for a slow one', () => {
  const { front, values, fanout, sweep, flood, drained } = room()
  const raw = values.declare('boiler.raw')
  const sockets = [true, true, false].map(superuser => {
    const socket = front.connect(superuser)
    return { socket, follower: fanout.open(socket) }
  })
  const [asks, does_not, user] = sockets as [(typeof sockets)[0], (typeof sockets)[0], (typeof sockets)[0]]
  fanout.followName(asks.follower, raw, 'asked')
  for (const { follower } of [asks, user]) fanout.followEvents(follower)
  turn()
  const audit = (n: number) => fanout.event({ type: 'audit', ts: '', flow: null, run: null, n })
  const seen = ({ socket }: { socket: SocketDouble }) => socket.frames('audit').map(frame => frame['n'])
  audit(0)
  asks.socket.reads = false
  flood(raw)
  sweep()
  for (let n = 1; n <= 3; n++) audit(n)
  fanout.event({ type: 'node_down', ts: '', flow: 'boiler', run: null })
  drained(asks.socket)
  audit(4)
  assert.deepEqual(sockets.map(seen), [[0, 1, 2, 3, 4], [], []])
  assert.deepEqual(
    sockets.map(({ socket }) => socket.frames('node_down').length),
    [1, 0, 1],
  )
  assert.deepEqual(does_not.socket.frames('node_down'), [])
  fanout.unfollowEvents(asks.follower)
  audit(5)
  assert.deepEqual(seen(asks), [0, 1, 2, 3, 4])
})

test('a socket that reads nothing for thirty seconds is closed with 1013', () => {
  const { values, fanout, join, sweep, flood, clock } = room()
  const raw = values.declare('boiler.raw')
  const { socket } = join('boiler.raw')
  socket.reads = false
  flood(raw)
  sweep()
  clock.ms += 29_000
  mock.timers.tick(29_000)
  assert.equal(ending(socket), null)
  clock.ms += 2_000
  mock.timers.tick(2_000)
  assert.deepEqual(ending(socket), [1013, 'this connection reads nothing; connect again and send "have"'])
  assert.equal(fanout.counts().stalled, 1)
  assert.equal(fanout.counts().followers, 0)
  fanout.close(socket)
})

test('one burst of more bytes than a socket may hold is noticed without waiting for the sweep', () => {
  const { values, fanout, join } = room({ decoder: { decode: () => 'x'.repeat(1 << 20) } })
  const message = values.declare('boiler.big')
  const { socket } = join('boiler.big')
  socket.reads = false
  const long = {
    subject: message,
    ts: 0,
    value_kind: KIND.str,
    number: 0,
    bytes: Buffer.alloc(0),
    start: 0,
    length: 1 << 20,
  }
  for (let version = 1; version <= 8; version++) fanout.value({ ...long, version })
  assert.equal(fanout.counts().slow, 1)
  assert.ok(socket.bufferedAmount() < 6 << 20)
})

test('a newcomer with more names than fit in a slow buffer gets them as it reads', () => {
  const { values, fanout, front } = room()
  const names = Array.from({ length: 100 }, (_, at) => `boiler.m${at}`)
  values.declare(...names)
  for (const message of names.keys()) values.publish(message, message)
  values.deliver(fanout)
  const socket = front.connect()
  socket.reads = false
  fanout.followFlow(fanout.open(socket), 'boiler')
  turn()
  assert.equal(fanout.counts().slow, 1)
  for (let step = 0; step < 30 && fanout.counts().slow > 0; step++) {
    socket.read(1000)
    fanout.drained(socket)
    turn()
  }
  assert.equal(socket.received.length, 100)
  assert.equal(new Set(socket.received.map(frame => frame['name'])).size, 100)
})

test('a message that was emptied is not sent as a value, and counts for nobody as missed', () => {
  const { values, fanout, join, front } = room()
  const raw = values.declare('boiler.raw')
  const first = join('boiler.raw')
  values.publish(raw, 1)
  values.deliver(fanout)
  values.clear(raw)
  fanout.flowChanged('boiler', [])
  const second = join('boiler.raw')
  const third = front.connect()
  fanout.followName(fanout.open(third), raw, 'resumed', 1)
  turn()
  values.publish(raw, 3)
  values.deliver(fanout)
  assert.deepEqual(
    first.socket.values('boiler.raw').map(({ version, missed }) => [version, missed]),
    [
      [1, 0],
      [3, 0],
    ],
  )
  assert.deepEqual(versions(second.socket), [3])
  assert.deepEqual(versions(third), [3])
})

test('an index that comes back under another name goes out under that name', () => {
  const { values, fanout, join } = room()
  const raw = values.declare('boiler.raw')
  const old = join('boiler.raw')
  values.publish(raw, 1)
  values.deliver(fanout)
  values.rename(raw, 'kettle.raw')
  fanout.flowChanged('boiler', [raw])
  assert.match(JSON.stringify(old.socket.frames('error')), /boiler\.raw\./)
  fanout.flowChanged('kettle', [])
  const { socket } = join('kettle.raw')
  values.publish(raw, 2)
  values.deliver(fanout)
  assert.deepEqual(versions(socket, 'kettle.raw'), [1, 2])
  assert.deepEqual(versions(old.socket), [1])
})

test('nothing runs while nothing is sent', () => {
  const { values, join, flood, sweep } = room()
  const raw = values.declare('boiler.raw')
  join('boiler.raw')
  flood(raw)
  sweep()
  sweep()
  const armed = mock.method(globalThis, 'setTimeout')
  sweep()
  sweep()
  assert.equal(armed.mock.callCount(), 0)
  armed.mock.restore()
})

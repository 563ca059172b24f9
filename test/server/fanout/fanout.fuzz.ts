import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { Fanout } from '../../../server/fanout/fanout.ts'
import type { Follower } from '../../../server/fanout/follower.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { FrontDouble, type SocketDouble } from '../../kit/socket-double.ts'
import { newestScratch, ValuesDouble } from '../../kit/values-double.ts'

const ROUNDS = process.env['LONG'] === undefined ? 60 : 3_000
const STEPS = 400
const FLOWS = ['boiler', 'tank', 'pump']
const NAMES = FLOWS.flatMap(flow => ['a', 'b', 'picture', 'other_picture'].map(name => `${flow}.${name}`))
const PICTURES = [...NAMES.keys()].filter(message => NAMES[message]!.endsWith('picture'))

/** A picture has a number; each third lies on the disk, and each seventh nowhere. */
const digestOf = (number: number): string => `sha256:${number.toString(16).padStart(64, '0')}`
const numberOf = (digest: string): number => Number.parseInt(digest.slice('sha256:'.length), 16)
const isOnDisk = (number: number): boolean => number % 3 === 0
const isGone = (number: number): boolean => number % 7 === 0

beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] }))
afterEach(() => mock.timers.reset())

/** A stretch in which one client followed one name without a break: from which version, and where in what it received. */
interface Stretch {
  message: number
  /** The version that it held when it began; null for a newcomer. */
  held: number | null
  /** The newest version when it began: in the message table, and in the journal. */
  since: [number, number]
  from: number
  to: number | null
}

interface Client {
  socket: SocketDouble
  follower: Follower
  stretches: Stretch[]
}

test('whatever happens, every client ends with the newest version, never goes back, its counts add up, and frames come ahead', async () => {
  console.log(`SEED=${seed}`)
  for (let round = 0; round < ROUNDS; round++) await play(seed + round)
})

async function play(roundSeed: number): Promise<void> {
  const random = randomFrom(roundSeed)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!
  const front = new FrontDouble()
  const values = new ValuesDouble()
  values.declare(...NAMES)
  const clock = { ms: 0 }
  const loads: (() => void)[] = []
  /** What the disk was asked for comes, and everything that follows from it. */
  const load = async (count: number): Promise<void> => {
    for (const come of loads.splice(0, count)) come()
    for (let turns = 0; turns < 5; turns++) await null
  }
  const fanout = new Fanout({
    values,
    directory: values,
    decoder: { decode: (_kind, number) => ({ digest: digestOf(number), media_type: 'image/png', size: 10 }) },
    media: {
      size: key => (isOnDisk(numberOfKey(key)) || isGone(numberOfKey(key)) ? -1 : 10),
      readInto: (key, target, at) => target.fill(numberOfKey(key) & 0xff, at, at + 10).length && 10,
      load: digest =>
        new Promise(resolve => loads.push(() => resolve(isGone(numberOf(digest)) ? null : Buffer.alloc(10)))),
    },
    scratch: newestScratch(),
    onDefect: error => assert.fail(String(error)),
    now_ms: () => clock.ms,
    slow_bytes: 800,
    sweep_ms: 10,
    stalled_ms: 1e9,
  })
  fanout.attach(front)
  let clients: Client[] = []
  const tick = (ms: number): void => {
    clock.ms += ms
    mock.timers.tick(ms)
  }
  const follow = (client: Client): void => {
    const flow = random() < 0.3 ? pick(FLOWS) : null
    const before = followed(client)
    if (flow !== null) fanout.followFlow(client.follower, flow)
    else fanout.followName(client.follower, values.indexOf(pick(NAMES)), 'asked')
    note(client, values, before, new Map())
  }
  const ask = (client: Client): void => {
    const before = followed(client)
    fanout.setMedia(client.follower, new Set(PICTURES.filter(() => random() < 0.5)))
    note(client, values, before, new Map())
  }
  const deliver = (count: number): void => {
    if (random() < 0.3) return values.deliver(fanout, count)
    fanout.startBatch()
    values.deliver(fanout, count)
    fanout.endBatch()
  }
  const unfollow = (client: Client): void => {
    const before = followed(client)
    if (random() < 0.3) fanout.unfollowFlow(client.follower, pick(FLOWS))
    else fanout.unfollowName(client.follower, values.indexOf(pick(NAMES)))
    note(client, values, before, new Map())
  }
  const connect = (held: Map<number, number>, media: ReadonlySet<number>): void => {
    const socket = front.connect()
    const client = { socket, follower: fanout.open(socket), stretches: [] }
    clients.push(client)
    for (const [message, version] of held) fanout.followName(client.follower, message, 'resumed', version)
    fanout.setMedia(client.follower, media)
    note(client, values, new Set(), held)
  }
  const reconnect = (client: Client): void => {
    const held = new Map<number, number>()
    const media = new Set(random() < 0.5 ? client.follower.media : [])
    for (const message of followed(client)) {
      const newest = client.socket.values(NAMES[message]!).at(-1)
      if (newest !== undefined) held.set(message, newest.version)
    }
    check(client, values, false)
    clients = clients.filter(other => other !== client)
    fanout.close(client.socket)
    client.socket.end(1000, '')
    connect(held, media)
  }

  for (let step = 0; step < STEPS; step++) {
    const client = clients.length === 0 ? null : pick(clients)
    const dice = random()
    if (client === null || (dice < 0.04 && clients.length < 12)) connect(new Map(), new Set())
    else if (dice < 0.4) for (let left = random() * 8; left > 0; left--) values.publish(pick([...NAMES.keys()]), step)
    else if (dice < 0.42) values.begin(pick([...NAMES.keys()]), step)
    else if (dice < 0.58) deliver(Math.floor(random() * 12))
    else if (dice < 0.6) await load(1 + Math.floor(random() * 3))
    else if (dice < 0.62) {
      values.lose(Math.floor(random() * values.journal.length))
      values.deliver(fanout)
      fanout.refreshAll()
    } else if (dice < 0.67) follow(client)
    else if (dice < 0.7) ask(client)
    else if (dice < 0.74) unfollow(client)
    else if (dice < 0.78) client.socket.reads = false
    else if (dice < 0.86) {
      client.socket.read(random() < 0.5 ? Math.floor(random() * 5) : undefined)
      fanout.drained(client.socket)
    } else if (dice < 0.89) reconnect(client)
    else tick(random() < 0.5 ? 1 : 10)
  }

  values.flip()
  values.deliver(fanout)
  fanout.refreshAll()
  for (let left = 50; left > 0; left--) {
    await load(Number.POSITIVE_INFINITY)
    for (const { socket } of clients) {
      socket.read()
      fanout.drained(socket)
    }
    tick(10)
  }
  for (const client of clients) check(client, values, true)
  for (const client of clients) {
    checkFrames(client)
    checkNewestFrames(client, values)
  }
  assert.equal(fanout.counts().slow, 0)
  assert.equal(fanout.counts().dropped, 0)
  for (const { socket } of clients) fanout.close(socket)
  assert.deepEqual(fanout.counts().followers, 0)
  for (const name of NAMES) values.publish(values.indexOf(name), 0)
  const { published } = fanout.counts()
  values.deliver(fanout)
  assert.equal(fanout.counts().published, published, 'nobody is left on any topic')
}

const followed = ({ follower }: Client): Set<number> =>
  new Set([...follower.live, ...follower.ahead.keys(), ...follower.behind.keys()])

/** What was sent before and is not read yet belongs to the stretches that ended: the client reads it now. */
function note(client: Client, values: ValuesDouble, before: Set<number>, held: Map<number, number>): void {
  const after = followed(client)
  const received = client.socket.received.length + client.socket.unread
  for (const message of after) {
    if (before.has(message)) continue
    const since: [number, number] = [values.version(message), values.begun(message)]
    client.stretches.push({ message, held: held.get(message) ?? null, since, from: received, to: null })
  }
  for (const stretch of client.stretches) {
    if (stretch.to === null && !after.has(stretch.message)) stretch.to = received
  }
}

function check({ socket, stretches }: Client, values: ValuesDouble, complete: boolean): void {
  for (const { message, held, since, from, to } of stretches) {
    const name = NAMES[message]!
    const frames = socket.received
      .slice(from, to ?? undefined)
      .filter(frame => frame['type'] === 'message_value' && frame['name'] === name)
    let has = held
    for (const frame of frames) {
      const version = frame['version'] as number
      const missed = (frame['missed'] as number | undefined) ?? 0
      if (has !== null) {
        assert.ok(version > has, `${name}: ${version} after ${has}`)
        assert.equal(missed, version - has - 1, `${name}: ${version} after ${has}`)
      } else {
        const possible = since.map(newest => Math.max(0, version - newest - 1))
        assert.ok(possible.includes(missed), `${name}: a newcomer since ${since} gets ${version}, missed ${missed}`)
      }
      has = version
    }
    if (complete && to === null) assert.equal(has ?? 0, values.version(message), `${name}: the newest`)
  }
}

const numberOfKey = (key: Uint8Array): number => Buffer.from(key).readUInt32BE(28)

/** A frame is the present value's alone, or stands just ahead of the value that names it; none is older than what came before. */
function checkFrames({ socket, stretches }: Client): void {
  // A client that came back has values of its last connection: the frame of one of those comes alone, too.
  const seen = new Map<string, number>()
  for (const { message, held } of stretches) if (held !== null) seen.set(NAMES[message]!, held)
  for (const [at, { type, name, version, digest }] of socket.received.entries()) {
    if (type !== 'media_frame' && type !== 'message_value') continue
    const before = seen.get(name as string) ?? 0
    if (type === 'media_frame') {
      const next = socket.received
        .slice(at + 1)
        .find(frame => frame['name'] === name && frame['type'] === 'message_value')
      assert.ok((version as number) >= before, `${name}: frame ${version} after ${before}`)
      if ((version as number) > before)
        assert.equal(next?.['version'], version, `${name}: frame ${version} without its value`)
      const value = version === next?.['version'] ? (next!['value'] as { digest: string }).digest : digest
      assert.equal(digest, value)
      assert.ok(!isGone(numberOf(digest as string)))
    }
    seen.set(name as string, Math.max(before, version as number))
  }
}

/** Whoever asks for frames has that of the newest value, whatever it held when it came. */
function checkNewestFrames({ socket, follower }: Client, values: ValuesDouble): void {
  const newest = newestScratch()
  for (const message of follower.media) {
    if (!values.read(message, newest) || isGone(newest.number)) continue
    const got = socket.received.findLast(({ type, name }) => type === 'media_frame' && name === NAMES[message])
    assert.equal(got?.['version'], newest.version, `${NAMES[message]}: the frame of the newest value`)
  }
}

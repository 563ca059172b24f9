/**
 * 500 screens, each with a dashboard of 12 tiles, and 1,000 messages: each message goes to six screens. The floor is the same engine with 500
 * sockets of a user that follow the same names; both are there in turn. The engine has a process of its own, and the clients share one that only counts.
 *
 * `10 a second`: each message changes 10 times a second; frames that came, and over the processor time of the engine's main thread. `rounds`: all messages
 * change once all frames of their last change have come; by the clock this would measure who gets the processors of the machine.
 *
 * `scope change`: from the save of a dashboard that all 500 panels show to the frame that tells the last screen; its name is taken from all of them. The
 * floor has no such thing. `request`: what the check of a caller takes, the median of 10,000; the floor is an open route.
 */
import { join } from 'node:path'
import type { Tile } from '../protocol/nouns/dashboard.ts'
import type { FlowDocument } from '../protocol/nouns/flow-document.ts'
import type { ClaimedPanel, Panel, StartedPairing } from '../protocol/nouns/panel.ts'
import { type Bench, type Contestant, compare, progress, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'
import type { FrameClients } from './partners/loads/frame-load.ts'

const SCREENS = 500
const TILES = 12
const MESSAGES = 1_000
const FLOWS = 4
const BEAT_MS = 100
const BEATS = 50
const ROUNDS = 100
const READ_BYTES = 64 * 1024
const PAIRED_AT_ONCE = 8

const NAMES = Array.from({ length: MESSAGES }, (_, at) => `f${at % FLOWS}.m${at}`)
const namesOf = (screen: number): string[] =>
  Array.from({ length: TILES }, (_, tile) => NAMES[(screen * TILES + tile) % MESSAGES]!)
const SHARED = 'f0.shared'

const bench: Bench = {
  name: 'panels',
  shows: '500 screens of 12 tiles each, 1,000 messages that change 10 times a second',
  floor: 'the same fan-out to sockets of a user; for a request, an open route',
  rival: 'none',
  async run(): Promise<Row[]> {
    const partner = (file: string): Promise<Partner> => Partner.start(join(import.meta.dirname, 'partners', file))
    const [ours, checks, load] = await Promise.all([
      partner('ours/engine.ts'),
      partner('ours/panel-checks.ts'),
      partner('loads/frame-load.ts'),
    ])
    const { url, token } = await ours.ask<{ url: string; token: string }>('start', { lanes: 1 })
    const admin = caller(url, token)
    for (let flow = 0; flow < FLOWS; flow++) await ours.ask('save', { name: `f${flow}`, document: flowOf(flow) })
    const screens = await pairAll(admin, url)
    const servers = {
      floor: { url, tokens: screens.map(() => token), admin, ours, load },
      ours: { url, tokens: screens, admin, ours, load },
    }
    const floor = contestant(servers.floor, async () => ({ request: await checks.ask<number>('open') }))
    const measured = contestant(servers.ours, async () => ({
      'scope change': await scopeChange(servers.ours),
      request: await checks.ask<number>('panel'),
    }))
    const unit = {
      '10 a second': 'frames/s',
      '10 a second per CPU': 'frames/CPU s',
      'rounds per CPU': 'frames/CPU s',
      'scope change': 'ms',
      request: 'us',
    }
    const rows = await compare({ unit, runs: RUNS, floor, ours: measured })
    await ours.ask('close')
    await Promise.all([ours.stop(), checks.stop(), load.stop()])
    return rows
  },
}
export default bench

interface Server {
  readonly url: string
  /** Of each socket. */
  readonly tokens: readonly string[]
  readonly admin: Ask
  readonly ours: Partner
  readonly load: Partner
}
type Counted = { frames: number; last_us: number }

function contestant(server: Server, more: () => Promise<Record<string, number>>): Contestant {
  const { ours, load } = server
  return async () => {
    await open(server, screen => namesOf(screen))
    const cpu = await ours.ask<number>('cpu')
    const wanted = SCREENS * TILES
    const began_us = Number(process.hrtime.bigint()) / 1000
    const counted = load.ask<Counted>('count', { frames: wanted * BEATS })
    await ours.ask('beat', { names: NAMES, every_ms: BEAT_MS, rounds: BEATS })
    const { frames, last_us } = await counted
    const spent = (await ours.ask<number>('cpu')) - cpu
    await round(server, wanted)
    const before = await ours.ask<number>('cpu')
    for (let left = ROUNDS; left > 0; left--) await round(server, wanted)
    const rounds_spent = (await ours.ask<number>('cpu')) - before
    await load.ask('close')
    return {
      '10 a second': frames / ((last_us - began_us) / 1e6),
      '10 a second per CPU': frames / spent,
      'rounds per CPU': (wanted * ROUNDS) / rounds_spent,
      ...(await more()),
    }
  }
}

/** Every message changes; resolves when all sockets have it. */
async function round({ ours, load }: Server, wanted: number): Promise<void> {
  const counted = load.ask<Counted>('count', { frames: wanted })
  await ours.ask('publishAll', { names: NAMES, value: Math.random() })
  const { frames } = await counted
  if (frames < wanted) throw new RangeError(`${frames} of ${wanted} frames came`)
}

/** Of the dashboard that all panels show: with its message, and then without. */
async function scopeChange(server: Server): Promise<number> {
  const { admin, load } = server
  await saveShared(admin, [SHARED])
  await open(server, () => [SHARED])
  const began_us = Number(process.hrtime.bigint()) / 1000
  const counted = load.ask<Counted>('count', { frames: SCREENS })
  await saveShared(admin, [])
  const { frames, last_us } = await counted
  if (frames !== SCREENS) throw new RangeError(`${frames} of ${SCREENS} screens were told`)
  await load.ask('close')
  return (last_us - began_us) / 1000
}

async function open({ url, tokens, load }: Server, names: (screen: number) => string[]): Promise<void> {
  const clients: FrameClients = {
    port: Number(new URL(url).port),
    path: '/ws/flows',
    protocol: '',
    reading: SCREENS,
    stalled: 0,
    first: '',
    read_bytes: READ_BYTES,
    each: tokens.map((token, screen) => ({
      protocol: `svc.v1, bearer.${token}`,
      first: JSON.stringify({ type: 'subscribe', names: names(screen) }),
    })),
  }
  await load.ask('open', clients)
  // The present values come first.
  await load.ask('count', { frames: Number.MAX_SAFE_INTEGER })
}

type Ask = <Answer>(method: string, path: string, body?: unknown) => Promise<Answer>
const caller =
  (url: string, token: string | null): Ask =>
  async <Answer>(method: string, path: string, body?: unknown) => {
    const headers = {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    }
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new RangeError(`${method} ${path}: ${text}`)
    return (text === '' ? null : JSON.parse(text)) as Answer
  }

const tiles = (names: readonly string[]): Tile[] =>
  names.map((message, at) => ({
    id: `t${at}`,
    type: 'value',
    settings: { message },
    position: { wide: { x: at % 12, y: 0, width: 1, height: 1 } },
  }))

const saveShared = (admin: Ask, names: readonly string[]): Promise<unknown> =>
  admin('PUT', '/dashboards/shared', { document: { locked: false, tiles: tiles(names) } })

/** A panel for each screen, and its token. */
async function pairAll(admin: Ask, url: string): Promise<string[]> {
  const nobody = caller(url, null)
  await saveShared(admin, [SHARED])
  const dashboards = new Map<string, string>()
  const pair = async (screen: number): Promise<string> => {
    const names = namesOf(screen)
    let dashboard = dashboards.get(names[0]!)
    if (dashboard === undefined) {
      dashboards.set(names[0]!, (dashboard = `d${screen}`))
      await admin('PUT', `/dashboards/${dashboard}`, { document: { locked: false, tiles: tiles(names) } })
    }
    const { id } = await admin<Panel>('POST', '/panels', { name: `p${screen}`, dashboards: [dashboard, 'shared'] })
    const { code, secret } = await nobody<StartedPairing>('POST', '/panels/pairings')
    await admin('POST', `/panels/${id}/approve`, { code })
    return (await nobody<ClaimedPanel>('POST', `/panels/pairings/${code}/claim`, { secret })).token
  }
  const paired: string[] = []
  for (let first = 0; first < SCREENS; first += PAIRED_AT_ONCE) {
    const count = Math.min(PAIRED_AT_ONCE, SCREENS - first)
    paired.push(...(await Promise.all(Array.from({ length: count }, (_, at) => pair(first + at)))))
  }
  progress(`${SCREENS} screens are paired`)
  return paired
}

function flowOf(flow: number): FlowDocument {
  const own = NAMES.filter((_, at) => at % FLOWS === flow).map(name => name.slice(3))
  const inputs = [...own, ...(flow === 0 ? ['shared'] : [])].map(message => ({ message, dtype: 'float' as const }))
  return { nodes: [], inputs }
}

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { ApiDouble } from '../../../../kit/api-double.ts'
import { ROOT } from '../../../../kit/sources.ts'
import { directoryFor, eventually, Spawned } from '../../../../kit/spawned.ts'

const FLOWS = { 'GET /flows': { answer: { items: [{ name: 'boiler' }, { name: 'host' }], count: 2 } } }
const TOKEN = 'tok'

const frame = (name: string, version: number, value: unknown, missed?: number) =>
  JSON.stringify({
    type: 'message_value',
    ts: `2026-01-02T03:04:05.00000${version}+00:00`,
    name,
    version,
    value,
    ...(missed === undefined ? {} : { missed }),
  })

const start = (t: TestContext) => ApiDouble.start(t, FLOWS, TOKEN)

const tail = (t: TestContext, api: ApiDouble, argv: string[], environment: Record<string, string> = {}): Spawned =>
  Spawned.svc(t, {
    argv: ['tail', ...argv],
    cwd: directoryFor(t),
    environment: { SVC_URL: api.url, SVC_TOKEN: TOKEN, ...environment },
  })

const subscribed = (api: ApiDouble, count = 1) =>
  eventually(`it subscribes`, () => {
    const frames = api.frames.filter(({ type }) => type === 'subscribe')
    return frames.length >= count && frames.at(-1)!
  })

const send = (api: ApiDouble, ...frames: string[]): void => {
  for (const socket of api.sockets) for (const text of frames) socket.send(text)
}

describe('svc tail into a pipe', () => {
  test('prints a line for each value, and what was missed on stderr', async t => {
    const api = await start(t)
    const svc = tail(t, api, ['boiler.raw', 'host', '--count', '3'])
    assert.deepEqual(await subscribed(api), {
      type: 'subscribe',
      names: ['boiler.raw'],
      flows: ['host'],
      events: false,
    })
    send(api, frame('boiler.raw', 1, 1.5), frame('host.load', 2, { a: 'x' }, 4), frame('boiler.raw', 3, 'hot'))
    assert.equal((await svc.ended).code, 0)
    assert.equal(
      svc.stdout,
      [
        '2026-01-02T03:04:05.000001+00:00 boiler.raw 1.5',
        '2026-01-02T03:04:05.000002+00:00 host.load {"a":"x"}',
        '2026-01-02T03:04:05.000003+00:00 boiler.raw "hot"',
        '',
      ].join('\n'),
    )
    assert.match(svc.stderr, /host\.load: 4 values before this one were missed/)
  })

  test('prints JSON lines with --json', async t => {
    const api = await start(t)
    const svc = tail(t, api, ['boiler.raw', '--json', '--count', '2'])
    await subscribed(api)
    send(api, frame('boiler.raw', 1, 1.5), frame('boiler.raw', 9, 2.5, 7))
    await svc.ended
    const lines = svc.stdout.trimEnd().split('\n')
    assert.deepEqual(lines, [frame('boiler.raw', 1, 1.5), frame('boiler.raw', 9, 2.5, 7)])
  })

  test('follows every flow when none is named, and those that come later', async t => {
    const api = await start(t)
    tail(t, api, [])
    assert.deepEqual(await subscribed(api), { type: 'subscribe', names: [], flows: ['boiler', 'host'], events: true })
    send(api, JSON.stringify({ type: 'flow_saved', ts: '', flow: 'pump', run: null }))
    assert.deepEqual(await subscribed(api, 2), { type: 'subscribe', flows: ['pump'] })
  })

  test('goes on after a lost connection from what it has', async t => {
    const api = await start(t)
    const svc = tail(t, api, ['boiler.raw', 'boiler.hot', 'host'])
    await subscribed(api)
    send(api, frame('boiler.raw', 7, 1), frame('host.load', 4, 2))
    await eventually('both are printed', () => svc.stdout.split('\n').length === 3)
    for (const socket of api.sockets) socket.terminate()
    const again = await subscribed(api, 2)
    assert.deepEqual(again, { type: 'subscribe', names: ['boiler.hot'], flows: ['host'], events: false })
    assert.deepEqual(api.frames.at(-2), { type: 'have', versions: { 'boiler.raw': 7, 'host.load': 4 } })
    await svc.stderrShows(/the connection was lost; reconnecting\nsvc: connected again/)
    svc.child.kill('SIGINT')
    assert.equal((await svc.ended).code, 130)
  })

  test('ends with 3 when the engine refuses a name', async t => {
    const api = await start(t)
    const problem = { code: 'message_not_found', title: 'No such message', detail: 'There is no message boiler.rw.' }
    api.onFrame((_, socket) => socket.send(JSON.stringify({ type: 'error', problem })))
    const svc = tail(t, api, ['boiler.rw'])
    assert.equal((await svc.ended).code, 3)
    assert.match(svc.stderr, /There is no message boiler\.rw/)
  })

  test('goes on when a followed message is removed, and says so', async t => {
    const api = await start(t)
    const svc = tail(t, api, ['boiler.raw', '--count', '1'])
    await subscribed(api)
    const problem = { code: 'message_not_found', title: 'No such message', detail: 'Removed: boiler.raw.' }
    send(api, JSON.stringify({ type: 'subscribed', names: [], flows: [], events: false }))
    send(api, JSON.stringify({ type: 'error', problem }))
    await svc.stderrShows('Removed: boiler.raw.')
    send(api, frame('boiler.raw', 1, 1))
    assert.equal((await svc.ended).code, 0)
  })

  test('ends with 5 when the engine does not know the token', async t => {
    const svc = tail(t, await start(t), ['boiler.raw'], { SVC_TOKEN: 'wrong' })
    assert.equal((await svc.ended).code, 5)
    assert.match(svc.stderr, /svc login/)
  })

  test('ends with 4 when no engine answers, and with 2 on what is no name', async t => {
    const api = await start(t)
    assert.equal((await tail(t, api, ['boiler.raw', '--url', 'http://127.0.0.1:1']).ended).code, 4)
    assert.equal((await tail(t, api, ['no/name']).ended).code, 2)
    assert.equal((await tail(t, api, ['boiler.raw', '--count', '0']).ended).code, 2)
  })

  test('ends quietly when the reader goes away', async t => {
    const api = await start(t)
    const cwd = directoryFor(t)
    const environment = { SVC_URL: api.url, SVC_TOKEN: TOKEN, SVC: join(ROOT, 'svc') }
    const piped = new Spawned(t, 'sh', ['-c', '"$SVC" tail boiler | head -n 1'], { cwd, environment })
    await subscribed(api)
    const sending = setInterval(() => send(api, frame('boiler.raw', 1, 1)), 5)
    t.after(() => clearInterval(sending))
    assert.equal((await piped.ended).code, 0)
    assert.equal(piped.stderr, '')
  })
})

// `script` is part of every Debian and gives a command a terminal.
const SCRIPT = '/usr/bin/script'

describe('svc tail on a terminal', { skip: existsSync(SCRIPT) ? false : `${SCRIPT} is missing` }, () => {
  const HIDE = '\u001b[?25l'
  const SHOW = '\u001b[?25h'

  const onTerminal = (t: TestContext, api: ApiDouble, size: string): Spawned =>
    new Spawned(t, SCRIPT, ['-qec', `stty ${size}; exec ${join(ROOT, 'svc')} tail boiler`, '/dev/null'], {
      cwd: directoryFor(t),
      environment: { SVC_URL: api.url, SVC_TOKEN: TOKEN, TERM: 'xterm', NO_COLOR: '1' },
    })

  test('draws a table, and gives cursor and screen back on Ctrl-C', async t => {
    const api = await start(t)
    const svc = onTerminal(t, api, 'rows 10 cols 70')
    await subscribed(api)
    send(api, frame('boiler.raw', 1, 71.25), frame('boiler.\u001b[2Jname', 2, 'x\u001b[31m', 12))
    await eventually('it draws', () => svc.stdout.includes('71.25') && svc.stdout.includes('u001b[31m'))
    assert.ok(svc.stdout.includes(HIDE) && !svc.stdout.includes(SHOW))
    assert.match(svc.stdout, /name +trend +last +rate\/s +missed/)
    svc.child.stdin!.write('\u0003')
    assert.equal((await svc.ended).code, 130)
    const after = svc.stdout.slice(svc.stdout.lastIndexOf(SHOW))
    assert.ok(after.includes('\u001b[?1049l') && after.includes('boiler.raw'), after)
    assert.ok(!svc.stdout.includes('\u001b[31m'))
  })

  test('says so when the connection is lost', async t => {
    const api = await start(t)
    const svc = onTerminal(t, api, 'rows 5 cols 40')
    await subscribed(api)
    for (const socket of api.sockets) socket.terminate()
    await eventually('it says so', () => svc.stdout.includes('connection lost'))
    await subscribed(api, 2)
    svc.child.stdin!.write('\u0003')
    assert.equal((await svc.ended).code, 130)
  })
})

import assert from 'node:assert/strict'
import { chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { FlowCommit, FlowSummary } from '../../../protocol/nouns/flow.ts'
import type { Summary } from '../../../protocol/nouns/summary.ts'
import { ApiDouble, refuse, type Scripted } from '../../kit/api-double.ts'
import { pageOf } from '../../kit/run-answers.ts'
import { directoryFor, Spawned, type SpawnedOptions } from '../../kit/spawned.ts'

const flow = (name: string, fields: Partial<FlowSummary> = {}): FlowSummary => ({
  name,
  enabled: true,
  version: 3,
  commit: 'c'.repeat(64),
  nodes: 2,
  updated_at: '2026-01-02T03:04:05.000006+00:00',
  updated_by: 'admin',
  origin: null,
  issues: [],
  ...fields,
})

const list = <Item>(...items: Item[]) => ({ items, count: items.length })

const SAVED = { name: 'boiler', version: 4, commit: 'd'.repeat(64), restarted: ['smooth'], kept: ['read'], issues: [] }

async function run(t: TestContext, argv: string[], options: Partial<SpawnedOptions> & { stdin?: string } = {}) {
  const cwd = options.cwd ?? directoryFor(t)
  const svc = Spawned.svc(t, { argv, cwd, environment: options.environment ?? {} })
  svc.child.stdin!.on('error', () => {})
  svc.child.stdin!.end(options.stdin ?? '')
  const { code } = await svc.ended
  return { code, stdout: svc.stdout, stderr: svc.stderr, cwd }
}

async function against(t: TestContext, script: Record<string, Scripted>, argv: string[], stdin = '') {
  const api = await ApiDouble.start(t, script)
  const answer = await run(t, argv, { environment: { SVC_URL: api.url, SVC_TOKEN: 'tok' }, stdin })
  return { ...answer, requests: api.requests }
}

describe('the command line itself', () => {
  test('prints its release and its help on stdout', async t => {
    const version = await run(t, ['--version'])
    assert.deepEqual([version.code, version.stdout], [0, '0.1.5\n'])
    const help = await run(t, ['--help'])
    assert.equal(help.code, 0)
    for (const command of ['serve', 'login', 'status', 'flows', 'publish', 'tail', 'messages']) {
      assert.match(help.stdout, new RegExp(`^  ${command}`, 'm'))
    }
    assert.match((await run(t, ['serve', '--help'])).stdout, /--max-runs <count>.*FLOW_MAX_RUNS/s)
  })

  for (const argv of [['frobnicate'], ['nodes'], ['flows', 'get'], ['status', '--prot'], [], ['publish', 'a.b']]) {
    test(`ends with 2 on "svc ${argv.join(' ')}" and says so on stderr`, async t => {
      const { code, stdout, stderr } = await run(t, argv)
      assert.deepEqual([code, stdout], [2, ''])
      assert.notEqual(stderr, '')
    })
  }

  test('runs from another directory and through a link', async t => {
    const cwd = directoryFor(t)
    const { symlinkSync } = await import('node:fs')
    symlinkSync(join(import.meta.dirname, '../../../svc'), join(cwd, 'linked'))
    const linked = new Spawned(t, './linked', ['--version'], { cwd })
    assert.equal((await linked.ended).code, 0)
    assert.equal(linked.stdout, '0.1.5\n')
  })
})

describe('finding the engine', () => {
  const FLOWS = { 'GET /flows': { answer: list(flow('boiler')) } }
  const FIND = ['flows', 'list', '--json']

  const withInstallation = (t: TestContext, api: ApiDouble, token: string): string => {
    const cwd = directoryFor(t)
    mkdirSync(join(cwd, '.svc'))
    writeFileSync(join(cwd, '.svc/engine.json'), JSON.stringify({ url: api.url, pid: 1, started_at: '', version: '' }))
    writeFileSync(join(cwd, '.svc/token'), token)
    return cwd
  }

  test('takes --url before SVC_URL before the installation before a kept login', async t => {
    const [byFlag, byVariable, byInstallation, byLogin] = await Promise.all([
      ApiDouble.start(t, FLOWS),
      ApiDouble.start(t, FLOWS),
      ApiDouble.start(t, FLOWS),
      ApiDouble.start(t, FLOWS),
    ])
    const cwd = withInstallation(t, byInstallation, 'local')
    mkdirSync(join(cwd, 'deep/er'), { recursive: true })
    mkdirSync(join(cwd, 'config/svc'), { recursive: true })
    const login = { url: byLogin.url, token: 'kept', expires_at: '' }
    writeFileSync(join(cwd, 'config/svc/logins.json'), JSON.stringify([login]))
    const XDG_CONFIG_HOME = join(cwd, 'config')
    const environment = { SVC_URL: byVariable.url, XDG_CONFIG_HOME }
    const elsewhere = directoryFor(t)
    await run(t, [...FIND, '--url', byFlag.url], { cwd, environment })
    await run(t, FIND, { cwd, environment })
    await run(t, FIND, { cwd: join(cwd, 'deep/er'), environment: { XDG_CONFIG_HOME } })
    await run(t, ['--data-dir', join(cwd, '.svc'), ...FIND], { cwd: elsewhere, environment: { XDG_CONFIG_HOME } })
    await run(t, FIND, { cwd: elsewhere, environment: { DATA_DIR: join(cwd, '.svc') } })
    await run(t, FIND, { cwd: elsewhere, environment: { XDG_CONFIG_HOME } })
    const seen = [byFlag, byVariable, byInstallation, byLogin].map(api => api.requests.map(each => each.authorization))
    assert.deepEqual(seen, [[undefined], [undefined], Array(3).fill('Bearer local'), ['Bearer kept']])
  })

  test('never sends a token to an address that it was not given for', async t => {
    const [mine, other] = [await ApiDouble.start(t, FLOWS), await ApiDouble.start(t, FLOWS)]
    const cwd = withInstallation(t, mine, 'local')
    await run(t, [...FIND, '--url', other.url], { cwd })
    await run(t, [...FIND, '--url', mine.url], { cwd })
    assert.equal(other.requests[0]!.authorization, undefined)
    assert.equal(mine.requests[0]!.authorization, 'Bearer local')
  })

  test('sends SVC_TOKEN to no other machine that a file names, and to this one as before', async t => {
    const api = await ApiDouble.start(t, FLOWS)
    const environment = { SVC_TOKEN: 'mine' }
    await run(t, FIND, { cwd: withInstallation(t, api, 'local'), environment })
    assert.equal(api.requests.at(-1)!.authorization, 'Bearer mine')
    // An address of this machine that is not a loopback one stands for another machine here.
    const { networkInterfaces } = await import('node:os')
    const outward = Object.values(networkInterfaces())
      .flat()
      .find(each => each?.family === 'IPv4' && !each.internal)?.address
    if (outward === undefined) return t.skip('this machine has loopback addresses only')
    const { createServer } = await import('node:http')
    const seen: (string | undefined)[] = []
    const server = createServer(({ headers }, response) => {
      seen.push(headers.authorization)
      response.end('{"items":[],"count":0}')
    })
    t.after(() => server.close())
    await new Promise<void>(resolve => server.listen(0, outward, resolve))
    const { port } = server.address() as { port: number }
    const cwd = withInstallation(t, api, 'laid there')
    const file = { url: `http://${outward}:${port}`, pid: 1, started_at: '', version: '' }
    writeFileSync(join(cwd, '.svc/engine.json'), JSON.stringify(file))
    await run(t, FIND, { cwd, environment })
    await run(t, [...FIND, '--url', file.url], { cwd, environment })
    assert.deepEqual(seen, ['Bearer laid there', 'Bearer mine'])
  })

  test('sends nothing to an engine whose installation lies above and belongs to another user, unless it is named', async t => {
    if (process.getuid?.() !== 0) return t.skip('only root can lay something there for another user')
    const api = await ApiDouble.start(t, FLOWS)
    const cwd = withInstallation(t, api, 'laid there')
    chownSync(join(cwd, '.svc'), 1234, 1234)
    mkdirSync(join(cwd, 'deep'))
    const { code, stderr } = await run(t, FIND, { cwd: join(cwd, 'deep'), environment: { SVC_TOKEN: 'mine' } })
    assert.equal(code, 2)
    assert.match(stderr, /\.svc was found in a parent directory and belongs to another user/)
    assert.equal(api.requests.length, 0)
    assert.equal((await run(t, ['--data-dir', join(cwd, '.svc'), ...FIND], { cwd })).code, 0)
    assert.equal((await run(t, [...FIND, '--url', api.url], { cwd })).code, 0)
    assert.equal(api.requests.at(-1)!.authorization, undefined)
  })

  test('ends with 4 when there is none, and says how to start one', async t => {
    for (const argv of [FIND, [...FIND, '--url', 'http://127.0.0.1:1']]) {
      const { code, stdout, stderr } = await run(t, argv)
      assert.deepEqual([code, stdout], [4, ''])
      assert.match(stderr, /svc serve/)
    }
  })

  test('ends with 4 while the engine of the installation starts', async t => {
    const cwd = directoryFor(t)
    mkdirSync(join(cwd, '.svc'))
    writeFileSync(join(cwd, '.svc/engine.json'), JSON.stringify({ url: null, pid: 77, started_at: '', version: '' }))
    const { code, stderr } = await run(t, FIND, { cwd })
    assert.equal(code, 4)
    assert.match(stderr, /process 77\) is still starting/)
  })

  test('ends with 5 when the engine does not know the token', async t => {
    const api = await ApiDouble.start(t, FLOWS, 'right')
    const { code, stderr } = await run(t, FIND, { environment: { SVC_URL: api.url, SVC_TOKEN: 'wrong' } })
    assert.equal(code, 5)
    assert.match(stderr, /svc login/)
  })

  test('refuses what is no address with 2', async t => {
    for (const url of ['127.0.0.1:8700', 'ftp://x', 'http://x/path', 'http://user:word@x']) {
      assert.equal((await run(t, [...FIND, '--url', url])).code, 2, url)
    }
  })
})

describe('an engine that is busy or breaks off', () => {
  test('is asked again, four times in all', async t => {
    const busy = { 'GET /flows': { act: (_, response) => refuse(response, 'rebuilding') } } satisfies Record<
      string,
      Scripted
    >
    const { code, stderr, requests } = await against(t, busy, ['flows', 'list'])
    assert.deepEqual([code, requests.length], [3, 4])
    assert.match(stderr, /rebuilding/)
  })

  test('answers in the end', async t => {
    const late: Scripted = {
      act: (_, response, times) => {
        if (times === 1) return response.destroy()
        if (times === 2) return refuse(response, 'starting')
        return list()
      },
    }
    const { code, requests } = await against(t, { 'GET /flows': late }, ['flows', 'list'])
    assert.deepEqual([code, requests.length], [0, 3])
  })

  test('gets a publish once', async t => {
    const { code, requests } = await against(t, { 'POST /messages/a.b': { refuse: 'backlogged' } }, [
      'publish',
      'a.b',
      '1',
    ])
    assert.deepEqual([code, requests.length], [3, 1])
  })

  test('that is no engine is named', async t => {
    const api = await ApiDouble.start(t, {
      'GET /flows': { act: (_, response) => response.end('<html>hello') },
    })
    const { code, stderr } = await run(t, ['flows', 'list', '--url', api.url])
    assert.equal(code, 1)
    assert.ok(stderr.includes(api.url) && stderr.includes('not an engine'), stderr)
  })
})

describe('svc flows', () => {
  test('list prints a table, or JSON, of every page', async t => {
    const items = Array.from({ length: 1_500 }, (_, at) => flow(`flow_${at}`))
    const pages: Scripted = {
      act: ({ query }) => pageOf(items, Number(query['offset']), Number(query['limit'])),
    }
    const { stdout } = await against(t, { 'GET /flows': pages }, ['flows', 'list'])
    assert.match(stdout, /^flow +version +nodes +enabled +issues +saved +by\n/)
    assert.match(stdout, /^flow_0 +3 +2 +yes +0 +2026-01-02 03:04:05 +admin$/m)
    assert.equal(stdout.split('\n').length, 1_502)
    const json = await against(t, { 'GET /flows': pages }, ['flows', 'list', '--json', '--limit', '1200'])
    assert.equal(JSON.parse(json.stdout).items.length, 1_200)
  })

  test('get prints the document, which put takes back', async t => {
    const document = { nodes: [], inputs: [{ message: 'raw', dtype: 'float' }] }
    const get = await against(t, { 'GET /flows/boiler': { answer: { ...flow('boiler'), document } } }, [
      'flows',
      'get',
      'boiler',
    ])
    assert.deepEqual(JSON.parse(get.stdout), document)
    const put = await against(
      t,
      { 'PUT /flows/boiler': { answer: SAVED } },
      ['flows', 'put', 'boiler', '-', '--message', 'why'],
      get.stdout,
    )
    assert.equal(put.code, 0, put.stderr)
    assert.deepEqual(put.requests[0]!.body, { document, message: 'why' })
    assert.equal(put.stdout, `boiler version 4, commit ${'d'.repeat(64)}\nrestarted smooth; kept read\n`)
  })

  test('put takes what get --json printed, from a file, over a known version, once', async t => {
    const cwd = directoryFor(t)
    writeFileSync(join(cwd, 'flow.json'), JSON.stringify({ ...flow('boiler'), document: { nodes: [] } }))
    const api = await ApiDouble.start(t, { 'PUT /flows/boiler': { refuse: 'stale_version' } })
    const argv = ['flows', 'put', 'boiler', 'flow.json', '--base-version', '2', '--url', api.url]
    const { code, stderr } = await run(t, argv, { cwd })
    assert.equal(code, 3)
    assert.match(stderr, /Read it again.*\n.*document: is odd/)
    assert.deepEqual(
      api.requests.map(({ body }) => body),
      [{ document: { nodes: [] }, base_version: 2 }],
    )
  })

  test('put takes a folder: the document, and the bodies of the code nodes that have none in it', async t => {
    const cwd = directoryFor(t)
    mkdirSync(join(cwd, 'boiler'))
    const nodes = [
      { id: 'read', type: 'code' },
      { id: 'mean', type: 'code', language: 'js' },
      { id: 'own', type: 'code', source: 'export default () => ({})' },
      { id: 'none', type: 'code' },
      { id: '../read', type: 'code' },
      { id: 'tick', type: 'inject' },
      null,
    ]
    writeFileSync(join(cwd, 'boiler', 'flow.json'), JSON.stringify({ nodes }))
    for (const name of ['read.ts', 'mean.js', 'mean.ts', 'own.ts', 'tick.ts', '../read.ts'])
      writeFileSync(join(cwd, 'boiler', name), `// ${name}`)
    const api = await ApiDouble.start(t, { 'PUT /flows/boiler': { answer: SAVED } })
    const { code, stderr } = await run(t, ['flows', 'put', 'boiler', 'boiler', '--url', api.url], { cwd })
    assert.equal(code, 0, stderr)
    const [read, mean, ...others] = nodes
    const sources = [{ ...read, source: '// read.ts' }, { ...mean, source: '// mean.js' }, ...others]
    assert.deepEqual(api.requests[0]!.body, { document: { nodes: sources } })
    const empty = await run(t, ['flows', 'put', 'boiler', '.', '--url', api.url], { cwd })
    assert.equal(empty.code, 2)
    assert.match(empty.stderr, /flow\.json cannot be read/)
  })

  test('put of what is no JSON, or no file, ends with 2', async t => {
    assert.equal((await against(t, {}, ['flows', 'put', 'boiler', '-'], '{')).code, 2)
    const { code, stderr } = await against(t, {}, ['flows', 'put', 'boiler', 'missing.json'])
    assert.equal(code, 2)
    assert.match(stderr, /missing\.json/)
  })

  const commit = (letter: string, version: number): FlowCommit => ({
    commit: letter.repeat(64),
    parent: null,
    flow: 'boiler',
    version,
    author: 'admin',
    message: `${letter}\u001b[31m`,
    at: '2026-01-02T03:04:05.000006+00:00',
    action: 'save',
  })
  const HISTORY = { 'GET /flows/boiler/history': { answer: list(commit('b', 2), commit('a', 1)) } }

  test('history prints the commits', async t => {
    const { stdout } = await against(t, HISTORY, ['flows', 'history', 'boiler'])
    assert.match(stdout, /^b{12} +2 +2026-01-02 03:04:05 +admin +save +b\\x1b\[31m$/m)
  })

  test('history of a commit prints what it changed', async t => {
    const diff = [
      { path: '/nodes/0/source', before: 'one\ntwo\nthree', after: 'one\n2\nthree' },
      { path: '/nodes/1', after: { id: 'new' } },
      { path: '/nodes/0/timeout', before: 5 },
    ]
    const detail = { answer: { ...commit('b', 2), document: { nodes: [] }, diff } }
    const script = { ...HISTORY, [`GET /flows/boiler/history/${'b'.repeat(64)}`]: detail }
    const { stdout } = await against(t, script, ['flows', 'history', 'boiler', 'bb'])
    assert.ok(stdout.includes('\n/nodes/0/source\n- two\n+ 2\n\n/nodes/1\n+ {\n+   "id": "new"\n+ }\n'), stdout)
    assert.ok(stdout.endsWith('/nodes/0/timeout\n- 5\n'), stdout)
  })

  test('purge says how much it dropped', async t => {
    const script = { 'POST /flows/boiler/purge': { answer: { name: 'boiler', dropped: 1234 } } }
    const { code, stdout } = await against(t, script, ['flows', 'purge', 'boiler'])
    assert.deepEqual([code, stdout], [0, 'boiler: 1234 dropped\n'])
    const { stdout: json } = await against(t, script, ['flows', 'purge', 'boiler', '--json'])
    assert.deepEqual(JSON.parse(json), { name: 'boiler', dropped: 1234 })
  })

  test('restore takes the first characters of a commit, and no others', async t => {
    const script = { ...HISTORY, 'POST /flows/boiler/restore': { answer: SAVED } }
    const { code, requests } = await against(t, script, ['flows', 'restore', 'boiler', 'aaaa'])
    assert.equal(code, 0)
    assert.deepEqual(requests.at(-1)!.body, { commit: 'a'.repeat(64) })
    const none = await against(t, script, ['flows', 'restore', 'boiler', 'abc'])
    assert.equal(none.code, 3)
    assert.equal(none.requests.length, 1)
  })

  test('a flow that is not there ends with 3', async t => {
    const { code, stderr } = await against(t, { 'GET /flows/none': { refuse: 'flow_not_found' } }, [
      'flows',
      'get',
      'none',
    ])
    assert.equal(code, 3)
    assert.match(stderr, /"svc flows list" lists the flows/)
  })
})

describe('svc publish', () => {
  const OK = { 'POST /messages/a.b': { answer: { name: 'a.b', version: 8 } } }
  const cases: [string[], string, unknown][] = [
    [['1.5'], '', 1.5],
    [['true'], '', true],
    [['"1"'], '', '1'],
    [['hello there'], '', 'hello there'],
    [['{"x":[1]}'], '', { x: [1] }],
    [['NaN'], '', 'NaN'],
    [['12', '--string'], '', '12'],
    [['-'], '[1, 2]\n', [1, 2]],
    [['--', '-5'], '', -5],
  ]
  for (const [argv, stdin, value] of cases) {
    test(`of ${argv.join(' ')} sends ${JSON.stringify(value)}`, async t => {
      const words = ['publish', 'a.b', ...argv]
      const { code, stdout, requests, stderr } = await against(t, OK, words, stdin)
      assert.equal(code, 0, stderr)
      assert.deepEqual(requests[0]!.body, { value })
      assert.equal(stdout, 'a.b version 8\n')
    })
  }
})

test('svc publish --durable asks for an answer when the value is on disk', async t => {
  const answers = { 'POST /messages/a.b': { answer: { name: 'a.b', version: 8 } } }
  const { code, requests } = await against(t, answers, ['publish', 'a.b', '1.5', '--durable'])
  assert.deepEqual([code, requests[0]!.body], [0, { value: 1.5, durable: true }])
})

describe('svc cascades', () => {
  const cascade = {
    id: '019b0000-0000-7000-8000-000000000001',
    flow: 'f',
    root: 'f.x',
    root_version: 7,
    parent: null,
    rerun_of: '019b0000-0000-7000-8000-000000000000',
    started_at: '2026-01-01T00:00:00.000000+00:00',
    duration: 0.25,
    status: 'interrupted',
    executions: 2,
    errors: 1,
  }

  test('list shows a page and says how many there are', async t => {
    const answers = { 'GET /cascades': { answer: { items: [cascade], count: 44 } } }
    const words = ['cascades', 'list', 'f', '--status', 'interrupted', '--limit', '1']
    const { code, stdout, stderr, requests } = await against(t, answers, words)
    assert.equal(code, 0, stderr)
    assert.deepEqual(requests[0]!.query, { flow: 'f', status: 'interrupted', limit: '1' })
    assert.match(stdout, /019b0000-0000-7000-8000-000000000001 .*interrupted.*f\.x 7/)
    assert.match(stderr, /1 of 44/)
  })

  test('show tells what became of one, and which one it runs again', async t => {
    const answers = { [`GET /cascades/${cascade.id}`]: { answer: cascade } }
    const { code, stdout } = await against(t, answers, ['cascades', 'show', cascade.id])
    assert.equal(code, 0)
    assert.match(stdout, /root +f\.x version 7/)
    assert.match(stdout, /rerun of +019b0000-0000-7000-8000-000000000000/)
  })

  test('rerun is asked for once', async t => {
    const rerun = { rerun_of: cascade.id, flow: 'f', root: 'f.x', root_version: 7 }
    const answers = { [`POST /cascades/${cascade.id}/rerun`]: { answer: rerun } }
    const { code, stdout, requests } = await against(t, answers, ['cascades', 'rerun', cascade.id])
    assert.deepEqual([code, stdout, requests.length], [0, 'f runs again from f.x version 7\n', 1])
  })
})

describe('svc messages', () => {
  const message = (name: string, value: unknown, version = 5) => ({
    name,
    version,
    value,
    dtype: 'json',
    updated_at: version === 0 ? null : '2026-01-02T03:04:05.000006+00:00',
    publisher: null,
  })

  test('list prints latest values, of one flow when asked', async t => {
    const script = { 'GET /messages': { answer: list(message('a.x', 1.5), message('a.y', null, 0)) } }
    const { stdout, requests } = await against(t, script, ['messages', 'list', 'a'])
    assert.match(stdout, /^a\.x +json +5 +2026-01-02 03:04:05 +1\.5$/m)
    assert.match(stdout, /^a\.y +json +0 +never$/m)
    assert.equal(requests[0]!.query['flow'], 'a')
  })

  test('get prints the value alone, strings as they are', async t => {
    const get = async (value: unknown, version?: number) =>
      against(t, { 'GET /messages/a.x': { answer: message('a.x', value, version) } }, ['messages', 'get', 'a.x'])
    assert.equal((await get(1.5)).stdout, '1.5\n')
    assert.equal((await get('two\nlines')).stdout, 'two\nlines\n')
    assert.deepEqual(JSON.parse((await get({ a: [1] })).stdout), { a: [1] })
    assert.equal((await get(null, 0)).code, 3)
  })
})

describe('svc status', () => {
  const summary: Summary = {
    version: '0.1.5',
    status: 'degraded',
    started_at: '2026-01-02T03:04:05.000006+00:00',
    uptime_s: 3_725,
    flows: { total: 2, enabled: 1, with_issues: 1 },
    backlog: [{ flow: 'boiler', waiting: 7_000, waiting_bytes: 3 * 1024 * 1024, oldest_s: 2.5, share: 0.7 }],
    nodes_down: 1,
    node_errors: 2,
    cascades: { in_flight: 3, limit: 1_000 },
    threads: [{ slot: 8, kind: 'lane', epoch: 2, state: 'busy', heap_bytes: 9_000_000, node: 'boiler.smooth' }],
    dropped: { hard_cap: 4, journal: 0 },
    disk: [{ class: 'history', bytes: 2_048, budget_bytes: null }],
    front: { held: 0, longest_ms: 0 },
    memory: { rss_bytes: 100 * 1024 * 1024, arena_bytes: 0, arena_limit_bytes: 256 * 1024 * 1024 },
  }
  const issue = { code: 'node_down', advisory: false, message: 'no answer', node: 'read', since: null }
  const SCRIPT = {
    'GET /observability/summary': { answer: summary },
    'GET /flows': { answer: list(flow('boiler', { issues: [issue] })) },
  }

  test('prints version, address, uptime, link, threads, backlog and issues', async t => {
    const { stdout, code } = await against(t, SCRIPT, ['status'])
    assert.equal(code, 0)
    assert.match(stdout, /^engine +0\.1\.5 at http:\/\/127\.0\.0\.1:\d+, up 1 h 2 min$/m)
    assert.match(stdout, /^link +never paired$/m)
    assert.match(stdout, /^lane 8 +busy +2x +8\.6 MiB +boiler\.smooth$/m)
    assert.match(stdout, /^boiler +7000 +3\.0 MiB +2 s +70 %$/m)
    assert.match(stdout, /^boiler\.read +node_down +no answer$/m)
    assert.match(stdout, /^dropped +hard_cap 4$/m)
  })

  test('prints the summary with --json', async t => {
    const { stdout } = await against(t, SCRIPT, ['status', '--json'])
    const { address, link, runs, resources, ...rest } = JSON.parse(stdout)
    assert.deepEqual(rest, summary)
    assert.match(address, /^http/)
    assert.deepEqual(link, { state: 'never paired' })
    // This engine has no routes for them.
    assert.deepEqual([runs, resources], [null, null])
  })
})

describe('svc login', () => {
  const LOGIN: Record<string, Scripted> = {
    'POST /login/access-token': {
      act: ({ body }, response) =>
        body === 'username=ada&password=hunter2'
          ? { access_token: 'tok', token_type: 'bearer', expires_in: 60 }
          : refuse(response, 'wrong_credentials'),
    },
    'GET /flows': { answer: list() },
  }

  test('keeps the token where only its owner reads it, and later commands use it', async t => {
    const api = await ApiDouble.start(t, LOGIN, 'tok')
    const cwd = directoryFor(t)
    const argv = ['login', api.url, '--username', 'ada', '--password-file', '-']
    const login = await run(t, argv, { cwd, stdin: 'hunter2\n' })
    assert.deepEqual([login.code, login.stdout], [0, ''], login.stderr)
    const kept = join(cwd, '.config/svc/logins.json')
    assert.equal(statSync(kept).mode & 0o777, 0o600)
    assert.ok(!readFileSync(kept, 'utf8').includes('hunter2'))
    assert.equal((await run(t, ['flows', 'list'], { cwd })).code, 0)
  })

  test('is undone by svc logout: the token ends at its engine and is forgotten here', async t => {
    const api = await ApiDouble.start(t, { ...LOGIN, 'POST /logout': { answer: null } }, 'tok')
    const cwd = directoryFor(t)
    const argv = ['login', api.url, '--username', 'ada', '--password-file', '-']
    assert.equal((await run(t, argv, { cwd, stdin: 'hunter2\n' })).code, 0)
    const logout = await run(t, ['logout'], { cwd })
    assert.deepEqual([logout.code, logout.stdout], [0, ''], logout.stderr)
    const asked = api.requests.filter(({ path }) => path === '/logout')
    assert.deepEqual(
      asked.map(({ authorization }) => authorization),
      ['Bearer tok'],
    )
    assert.deepEqual(JSON.parse(readFileSync(join(cwd, '.config/svc/logins.json'), 'utf8')), [])
    const again = await run(t, ['logout', api.url], { cwd })
    assert.equal(again.code, 2)
    assert.match(again.stderr, /No sign-in at http/)
  })

  test('svc logout forgets a token that has ended, and keeps one whose engine does not answer', async t => {
    const cwd = directoryFor(t)
    const api = await ApiDouble.start(t, { ...LOGIN, 'POST /logout': { refuse: 'unauthenticated' } }, 'tok')
    const argv = ['login', api.url, '--username', 'ada', '--password-file', '-']
    const kept = () => JSON.parse(readFileSync(join(cwd, '.config/svc/logins.json'), 'utf8')).length
    assert.equal((await run(t, argv, { cwd, stdin: 'hunter2\n' })).code, 0)
    assert.equal((await run(t, ['logout'], { cwd })).code, 0)
    assert.equal(kept(), 0)
    const unreached = { url: 'http://127.0.0.1:1', token: 'tok', expires_at: '2026-01-01T00:00:00Z' }
    writeFileSync(join(cwd, '.config/svc/logins.json'), JSON.stringify([unreached]))
    assert.equal((await run(t, ['logout'], { cwd })).code, 4)
    assert.equal(kept(), 1)
  })

  test('with a wrong password ends with 5 and keeps nothing', async t => {
    const api = await ApiDouble.start(t, LOGIN)
    const cwd = directoryFor(t)
    writeFileSync(join(cwd, 'password'), 'wrong')
    const { code, stderr } = await run(t, ['login', api.url, '--username', 'ada', '--password-file', 'password'], {
      cwd,
    })
    assert.equal(code, 5)
    assert.match(stderr, /Check both/)
    assert.throws(() => statSync(join(cwd, '.config/svc/logins.json')))
  })

  test('asks nobody without a terminal: it ends with 2 and names the flag', async t => {
    const user = await run(t, ['login', 'http://127.0.0.1:1'])
    assert.equal(user.code, 2)
    assert.match(user.stderr, /--username/)
    const password = await run(t, ['login', 'http://127.0.0.1:1', '--username', 'ada'])
    assert.equal(password.code, 2)
    assert.match(password.stderr, /--password-file/)
  })
})

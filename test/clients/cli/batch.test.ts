import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { parquetReadObjects } from 'hyparquet'
import { sentences } from '../../../clients/cli/commands/runs/why.ts'
import { errorTable } from '../../../protocol/errors.ts'
import type { CreateRun, Run, RunNodeWhy } from '../../../protocol/nouns/run.ts'
import { ApiDouble, refuse, type Scripted } from '../../kit/api-double.ts'
import {
  failedRun,
  listOf,
  pageOf,
  queuedRun,
  runEvent,
  runId,
  runNodeOf,
  runOf,
  timeAt,
} from '../../kit/run-answers.ts'
import { directoryFor, eventually, Spawned } from '../../kit/spawned.ts'
import { against, ended, svc } from '../../kit/svc-against.ts'

const RUN = `/runs/${runId(1)}`

describe('svc run', () => {
  test('creates a run, waits for its end, and prints what it made, terminal messages first', async t => {
    const { code, stdout, stderr, requests } = await against(
      t,
      {
        'POST /runs/flows/boiler': { answer: queuedRun(1) },
        [`GET ${RUN}`]: {
          act: (_, __, count) =>
            count < 3 ? queuedRun(1) : runOf(1, { result: { raw: [1, 2], mean: 1.5 }, terminal: ['mean'] }),
        },
      },
      [
        'run',
        'boiler',
        '-p',
        'window=12',
        '-p',
        'name=pump 1',
        '-p',
        'f.x={"a":[1]}',
        '--seed',
        '7',
        '--timeout',
        '1.5',
      ],
    )
    assert.equal(code, 0, stderr)
    assert.equal(stdout, 'message  value\nmean     1.5\nraw      [1,2]\n')
    assert.ok(stderr.includes(`run ${runId(1)} succeeded in 2 s`), stderr)
    const { idempotency_key, ...body } = requests[0]!.body as CreateRun
    assert.deepEqual(body, {
      cause: 'cli',
      inputs: { window: 12, name: 'pump 1', 'f.x': { a: [1] } },
      seed: 7,
      timeout: 1.5,
    })
    assert.match(idempotency_key!, /^run:/)
  })

  test('ends with 1 when the run failed, and says where and why', async t => {
    const script = { 'POST /runs/flows/boiler': { answer: queuedRun(1) }, [`GET ${RUN}`]: { answer: failedRun(1) } }
    const { code, stdout, stderr } = await against(t, script, ['run', 'boiler'])
    assert.deepEqual([code, stdout], [1, ''])
    assert.ok(stderr.includes('failed in 2 s: boiler.read: no sensor (node_error)'), stderr)
  })

  test('says in commands what to do next, also where the error is that of a record', async t => {
    const message = `a.b: it cannot be loaded. ${errorTable.body_not_loaded.next}`
    const error = { code: 'body_not_loaded', message, node: 'mean', stack: null }
    const failed = runOf(1, { status: 'failed', error })
    const script = { [`GET ${RUN}`]: { answer: failed }, [`GET ${RUN}/nodes`]: { answer: listOf() } }
    const { stdout } = await against(t, script, ['runs', 'show', runId(1)])
    assert.match(
      stdout,
      /it cannot be loaded\. Check its imports, then run "svc modules refresh"\. \(body_not_loaded\)/,
    )
  })

  test('does not wait with --no-wait, prints the run with --json, tells of a key that named one', async t => {
    const replayed: Scripted = {
      act: (_, response) => {
        response.setHeader('idempotency-replayed', 'true')
        return runOf(1)
      },
    }
    const given = ['run', 'boiler', '--key', 'k', '--group', 'g', '--no-cache', '--no-wait']
    const plain = await against(t, { 'POST /runs/flows/boiler': replayed }, given)
    assert.deepEqual([plain.code, plain.stdout], [0, `${runId(1)}\n`])
    assert.match(plain.stderr, /a run with this key exists: .*, succeeded/)
    assert.deepEqual(plain.requests[0]!.body, { cause: 'cli', idempotency_key: 'k', group: 'g', no_cache: true })
    const json = await against(t, { 'POST /runs/flows/boiler': replayed }, [...given, '--json'])
    assert.deepEqual(JSON.parse(json.stdout), runOf(1))
  })

  test('tells with --follow what happens', async t => {
    const events = [
      runEvent('run_finished', 3, { status: 'succeeded' }),
      runEvent('node_queued', 2, { node: 'boiler.a' }),
    ]
    const { code, stderr } = await against(
      t,
      {
        'POST /runs/flows/boiler': { answer: queuedRun(1) },
        [`GET ${RUN}`]: { answer: runOf(1) },
        [`GET ${RUN}/events`]: { answer: listOf(...events) },
      },
      ['run', 'boiler', '--follow'],
    )
    assert.equal(code, 0, stderr)
    assert.match(stderr, /00:00:02 node_queued node=boiler\.a\n.*00:00:03 run_finished status=succeeded\n/)
  })

  /** A run that goes on until it is cancelled. */
  async function endless(t: TestContext, whenCancelled: (api: Run) => Run) {
    let run = queuedRun(1, { status: 'running' })
    const api = await ApiDouble.start(t, {
      'POST /runs/flows/boiler': { answer: run },
      [`GET ${RUN}`]: { act: () => run },
      [`POST ${RUN}/cancel`]: {
        act: (_, response) => {
          run = whenCancelled(run)
          if (run.status === 'succeeded') return refuse(response, 'run_ended')
          return run
        },
      },
    })
    const command = svc(t, api, ['run', 'boiler'])
    await eventually('it waits', () => api.requests.some(({ method }) => method === 'GET'))
    command.child.kill('SIGINT')
    return ended(command)
  }

  test('cancels the run on Ctrl-C, waits for its end and ends with 130', async t => {
    const { code, stderr } = await endless(t, run => ({ ...run, status: 'cancelled' }))
    assert.equal(code, 130)
    assert.match(stderr, /cancelling run .*\n.*run \S+ cancelled/)
  })

  test('that ended before Ctrl-C reached it has its result', async t => {
    const { code, stdout } = await endless(t, () => runOf(1))
    assert.deepEqual([code, stdout], [0, 'message  value\nmean     1.5\n'])
  })

  test('leaves the run to itself on a second Ctrl-C', async t => {
    const api = await ApiDouble.start(t, {
      'POST /runs/flows/boiler': { answer: queuedRun(1) },
      [`GET ${RUN}`]: { answer: queuedRun(1) },
      [`POST ${RUN}/cancel`]: { answer: queuedRun(1) },
    })
    const command = svc(t, api, ['run', 'boiler'])
    await eventually('it waits', () => api.requests.some(({ method }) => method === 'GET'))
    command.child.kill('SIGINT')
    await eventually('it cancels', () => api.requests.some(({ path }) => path.endsWith('/cancel')))
    command.child.kill('SIGINT')
    assert.equal((await ended(command)).code, 130)
  })

  test('ends with 2 when an input is given twice, and asks for nothing', async t => {
    const { code, requests } = await against(t, {}, ['run', 'boiler', '-p', 'a=1', '-p', 'a=2'])
    assert.deepEqual([code, requests], [2, []])
  })

  test('names the inputs that the engine refused', async t => {
    const { code, stderr } = await against(t, { 'POST /runs/flows/boiler': { refuse: 'bad_input' } }, ['run', 'boiler'])
    assert.equal(code, 3)
    assert.match(stderr, /Wrong inputs for a run.*\n.*document: is odd/)
  })
})

describe('svc runs', () => {
  test('list prints the newest, inputs that vary first, a text cut at 80 characters', async t => {
    const long = runOf(3, { inputs: { text: 'x'.repeat(100), a: 1 }, group: 'g' })
    const { stdout, stderr, requests } = await against(
      t,
      { 'GET /runs': { answer: { items: [long, runOf(2)], count: 9, counts: {} } } },
      ['runs', 'list', 'boiler', '--status', 'succeeded', '--since', '2026-01-01T00:00:00Z', '--limit', '2'],
    )
    assert.match(stdout, /^text +a +run +status +created +took +group\n/)
    const text = /^(x+…) +1 /m.exec(stdout)![1]!
    assert.equal(text.length, 80)
    assert.match(stderr, /2 of 9/)
    assert.deepEqual(requests.at(-1)!.query, {
      flow: 'boiler',
      status: 'succeeded',
      since: '2026-01-01T00:00:00Z',
      limit: '2',
    })
  })

  test('show prints the run with its nodes and what it made', async t => {
    const script = {
      [`GET ${RUN}`]: { answer: runOf(1, { inputs: { window: 12 }, seed: 7 }) },
      [`GET ${RUN}/nodes`]: {
        answer: listOf(runNodeOf('read', { status: 'cached', cached_from: runId(9) }), runNodeOf('mean')),
      },
    }
    const { stdout } = await against(t, script, ['runs', 'show', runId(1)])
    assert.match(stdout, /^status +succeeded in 2 s$/m)
    assert.match(stdout, /^seed +7\n {2}window +12$/m)
    assert.match(stdout, new RegExp(`^read +cached .*from ${runId(9)}$`, 'm'))
    assert.match(stdout, /^mean +1\.5$/m)
    const json = await against(t, script, ['runs', 'show', runId(1), '--json'])
    assert.equal(JSON.parse(json.stdout).nodes.length, 2)
  })

  test('show says what each node of a run that goes on waits for', async t => {
    const needs = { cpus: null, gpus: 1, ram_mb: null, flavor: null }
    const waits = { run: runId(1), asked: needs, needs, since: timeAt(5), position: 2, device: null }
    const script = {
      [`GET ${RUN}`]: { answer: runOf(1, { status: 'running', finished_at: null }) },
      [`GET ${RUN}/nodes`]: {
        answer: listOf(
          runNodeOf('train', { status: 'queued', granted: null }),
          runNodeOf('score', { status: 'queued', granted: needs }),
          runNodeOf('read', { status: 'queued', granted: null }),
        ),
      },
      'GET /workers/resources': {
        answer: {
          machines: [],
          waiting: [
            { ...waits, node: 'boiler.train' },
            { ...waits, node: 'boiler.read', device: 'rig', position: 1 },
            { ...waits, node: 'boiler.score', run: runId(2) },
          ],
          waiting_count: 3,
          runs: { count: 4, free: 0, set_aside: 1, wanting: 0 },
        },
      },
    }
    const { stdout } = await against(t, script, ['runs', 'show', runId(1)])
    assert.match(stdout, /^train +queued .*waits for 1 card, position 2$/m)
    assert.match(stdout, /^read +queued .*waits for a worker with the label rig, position 1$/m)
    assert.match(stdout, /^score +queued .*has its resources, waits for a run place$/m)
  })

  test('diff prints what differs, leaf by leaf, and nothing of times', async t => {
    const script = {
      [`GET ${RUN}`]: { answer: runOf(1, { inputs: { window: 12, model: { kind: 'a', depth: 2 } } }) },
      [`GET ${RUN}/nodes`]: { answer: listOf(runNodeOf('mean')) },
      [`GET /runs/${runId(2)}`]: {
        answer: failedRun(2, { inputs: { window: 12, model: { kind: 'b', depth: 2 }, extra: [1] } }),
      },
      [`GET /runs/${runId(2)}/nodes`]: { answer: listOf(runNodeOf('mean', { status: 'failed' })) },
    }
    const { stdout } = await against(t, script, ['runs', 'diff', runId(1), runId(2), '--json'])
    assert.deepEqual(JSON.parse(stdout).differences, [
      { path: 'inputs.model.kind', a: 'a', b: 'b' },
      { path: 'inputs.extra', b: [1] },
      { path: 'status', a: 'succeeded', b: 'failed' },
      { path: 'error.node', b: 'read' },
      { path: 'error.code', b: 'node_error' },
      { path: 'error.message', b: 'no sensor' },
      { path: 'nodes.mean.status', a: 'succeeded', b: 'failed' },
      { path: 'result.mean', a: 1.5 },
    ])
    const text = await against(t, script, ['runs', 'diff', runId(1), runId(2)])
    assert.match(text.stdout, /^inputs\.model\.kind +a +b$/m)
    const same = await against(t, script, ['runs', 'diff', runId(1), runId(1)])
    assert.match(same.stderr, /differ only in their times/)
  })
})

describe('svc why', () => {
  const why: Omit<RunNodeWhy, 'cache'> = {
    run: runId(1),
    node: 'mean',
    status: 'succeeded',
    cached_from: null,
    nearest: null,
    changed: [],
  }
  const cases: [Partial<RunNodeWhy> & Pick<RunNodeWhy, 'cache'>, RegExp][] = [
    [
      { cache: 'hit', status: 'cached', cached_from: runId(9) },
      new RegExp(`mean is cached: hit, from run ${runId(9)}`),
    ],
    [{ cache: 'miss', nearest: runId(9), changed: ['settings', 'values.x'] }, /these changed: settings, values\.x/],
    [{ cache: 'miss' }, /no earlier run has the node/],
    [{ cache: 'miss', nearest: runId(9) }, /although nothing changed/],
    [{ cache: 'off' }, /opted out/],
    [{ cache: 'not_cacheable' }, /cannot be cached/],
  ]
  for (const [fields, said] of cases) {
    test(`says of ${JSON.stringify(fields)} what it means`, () => {
      assert.match(sentences({ ...why, ...fields }).join('\n'), said)
    })
  }

  test('prints it', async t => {
    const answer = { ...why, cache: 'miss', nearest: runId(9), changed: ['code'] }
    const { stdout } = await against(t, { [`GET ${RUN}/nodes/mean/why`]: { answer } }, ['why', runId(1), 'mean'])
    assert.equal(stdout, `mean is succeeded: miss; since run ${runId(9)} these changed: code\n`)
  })
})

describe('svc runs follow', () => {
  test('of a short id asks for a page of the log, and never for the run, which may be long', async t => {
    const script = { 'GET /runs/2f1e6a9b/logs': { refuse: 'ambiguous_id' as const } }
    for (const words of [['follow'], ['logs', '--follow']]) {
      const { code, requests } = await against(t, script, ['runs', ...words, '2f1e6a9b'])
      assert.notEqual(code, 0)
      assert.deepEqual(
        requests.map(({ path }) => path),
        ['/runs/2f1e6a9b/logs'],
      )
    }
  })
})

describe('svc retry', () => {
  test('of a run starts it again and prints the new one', async t => {
    const { code, stdout } = await against(t, { [`POST ${RUN}/retry`]: { answer: queuedRun(2) } }, ['retry', runId(1)])
    assert.deepEqual([code, stdout], [0, `${runId(2)}\n`])
  })

  test('of a group starts what failed, unless a newer run has the same inputs, however many there are', async t => {
    const digests = (count: number, make: (at: number) => Run): Run[] =>
      Array.from({ length: count }, (_, at) => make(at))
    const runs = [
      ...digests(600, at => runOf(at + 1, { inputs_digest: `d${at}` })),
      failedRun(601, { inputs_digest: 'x' }),
      failedRun(602, { inputs_digest: 'y' }),
      queuedRun(603, { inputs_digest: 'z', status: 'cancelled' }),
      runOf(604, { inputs_digest: 'y' }),
      failedRun(605, { inputs_digest: 'x' }),
    ].toReversed()
    const script: Record<string, Scripted> = {
      'GET /runs': {
        act: ({ query }) => {
          const items = runs.filter(run => query['before'] === undefined || run.created_at < query['before'])
          return { ...pageOf(items, 0, Number(query['limit'])), counts: {} }
        },
      },
    }
    for (const number of [603, 605]) script[`POST /runs/${runId(number)}/retry`] = { answer: queuedRun(number + 1_000) }
    const { code, stdout, stderr, requests } = await against(t, script, ['retry', '--group', 'g'])
    assert.equal(code, 0, stderr)
    assert.equal(stdout, `${runId(1_603)}\n${runId(1_605)}\n`)
    assert.equal(requests.filter(({ query }) => query['before'] !== undefined).length, 1)
  })

  test('of a group that there is not is refused as the engine names it, and starts nothing', async t => {
    const script: Record<string, Scripted> = {
      'GET /runs': { answer: { items: [], count: 0, counts: {} } },
      'GET /runs/metrics/names': { refuse: 'group_not_found' },
    }
    const { code, stdout, stderr } = await against(t, script, ['retry', '--group', 'nigth'])
    assert.notEqual(code, 0)
    assert.equal(stdout, '')
    assert.match(stderr, /group/)
  })

  test('of a run and a group at once ends with 2', async t => {
    assert.equal((await against(t, {}, ['retry', runId(1), '--group', 'g'])).code, 2)
  })
})

describe('svc export', () => {
  test('writes the bytes of the engine to standard output, and what was left out to standard error', async t => {
    const rows = Array.from({ length: 20_000 }, (_, at) => `run,${at}`).join('\n')
    const script: Record<string, Scripted> = {
      'GET /runs/metrics/export': {
        act: (_, response) => {
          response.setHeader('x-truncated', 'the newest 10000 runs')
          response.end(rows)
        },
      },
    }
    const argv = ['export', 'metrics', 'boiler', '--name', 'boiler.a.x', '--stride', '10', '--format', 'jsonl', '--raw']
    const { code, stdout, stderr, requests } = await against(t, script, argv)
    assert.equal(code, 0, stderr)
    assert.ok(stdout === rows)
    assert.match(stderr, /incomplete: the newest 10000 runs/)
    assert.deepEqual(requests[0]!.query, {
      flow: 'boiler',
      format: 'jsonl',
      raw: 'true',
      name: 'boiler.a.x',
      stride: '10',
    })
  })

  test('lists the names of the metrics', async t => {
    const script = { 'GET /runs/metrics/names': { answer: listOf('boiler.a.x', 'boiler.a.y') } }
    const { stdout, requests } = await against(t, script, ['export', 'runs', '--list', '--group', 'g'])
    assert.equal(stdout, 'boiler.a.x\nboiler.a.y\n')
    assert.deepEqual(requests[0]!.query, { group: 'g', limit: '1000', offset: '0' })
  })

  test('lists them over all requests that the engine wants for them, each name once', async t => {
    const before = '2026-01-01T00:00:00.000001+00:00'
    const script: Record<string, Scripted> = {
      'GET /runs/metrics/names': {
        act: ({ query }) =>
          query['before'] === before ? listOf('boiler.a.a', 'boiler.a.y') : { ...listOf('boiler.a.y'), before },
      },
    }
    const { stdout, requests } = await against(t, script, ['export', 'runs', '--list'])
    assert.equal(stdout, 'boiler.a.a\nboiler.a.y\n')
    assert.equal(requests.length, 2)
  })

  test('ends with 3 and both versions when the engine lacks it', async t => {
    const script = { 'GET /observability/summary': { answer: { version: '0.1.1' } } }
    const { code, stderr } = await against(t, script, ['export', 'runs'])
    assert.equal(code, 3)
    assert.match(stderr, /version 0\.1\.1, and this client is 0\.1\.5/)
  })

  test('ends with 1 when it breaks off', async t => {
    const script: Record<string, Scripted> = {
      'GET /runs/export': {
        act: (_, response) => {
          response.write('run\n')
          setImmediate(() => response.destroy())
          return undefined
        },
      },
    }
    const api = await ApiDouble.start(t, script)
    const { code, stderr } = await ended(svc(t, api, ['export', 'runs']))
    assert.equal(code, 1)
    assert.match(stderr, /the file is incomplete/)
  })

  test('takes csv, jsonl and parquet and nothing else', async t => {
    assert.equal((await against(t, {}, ['export', 'runs', '--format', 'xlsx'])).code, 2)
  })

  test('writes a file with -o, which has its name when it is whole', async t => {
    const rows = [{ run: runId(1), name: 'boiler.a.x', step: 0, value: 0.5 }]
    const api = await ApiDouble.start(t, {
      'GET /runs/metrics/export': {
        act: ({ query }, response) => {
          response.write(query['format'] === 'jsonl' ? `${JSON.stringify(rows[0])}\n` : 'run,name\n')
          if (query['name'] === 'broken') setImmediate(() => response.destroy())
          else response.end()
          return undefined
        },
      },
    })
    const cwd = directoryFor(t)
    const exported = async (...argv: string[]) =>
      ended(Spawned.svc(t, { argv: ['export', 'metrics', '--url', api.url, ...argv], cwd }))
    assert.deepEqual(await exported('-o', 'metrics.csv'), { code: 0, stdout: '', stderr: '' })
    assert.equal(readFileSync(join(cwd, 'metrics.csv'), 'utf8'), 'run,name\n')
    assert.deepEqual(await exported('--format', 'parquet', '-o', 'metrics.parquet'), {
      code: 0,
      stdout: '',
      stderr: '',
    })
    const { buffer } = new Uint8Array(readFileSync(join(cwd, 'metrics.parquet')))
    assert.deepEqual(await parquetReadObjects({ file: buffer }), rows)
    assert.equal((await exported('--name', 'broken', '-o', 'broken.csv')).code, 1)
    assert.equal((await exported('-o', 'nowhere/metrics.csv')).code, 2)
    assert.deepEqual(readdirSync(cwd).sort(), ['metrics.csv', 'metrics.parquet'])
  })
})

describe('svc flavors', () => {
  const flavor = { name: 'gpu-small', cpus: 4, gpus: 1, ram: 16_384, duration_s: 90 }

  test('are listed, made and removed', async t => {
    const script: Record<string, Scripted> = {
      'GET /flavors': { answer: listOf(flavor) },
      'PUT /flavors/gpu-small': { answer: flavor },
      'DELETE /flavors/gpu-small': { refuse: 'flavor_in_use' },
    }
    const list = await against(t, script, ['flavors', 'list'])
    assert.match(list.stdout, /^gpu-small +4 +1 +16384 +1 min 30 s$/m)
    const put = await against(t, script, ['flavors', 'put', 'gpu-small', '--cpus', '1.5', '--gpus', '0', '--ram', '2G'])
    assert.equal(put.code, 0, put.stderr)
    assert.deepEqual(put.requests[0]!.body, { cpus: 1.5, gpus: 0, ram: '2G' })
    const removed = await against(t, script, ['flavors', 'delete', 'gpu-small'])
    assert.equal(removed.code, 3)
    assert.match(removed.stderr, /The flavor is in use/)
  })
})

test('svc status tells of runs, machines and nodes that wait', async t => {
  const resources = {
    machines: [
      {
        machine: 'local',
        capacity: { cpus: 6, gpus: 2, ram_mb: 16_000 },
        free: { cpus: 1.5, cards: [1], ram_mb: 8_000 },
        held: [{ node: 'f.a', run: null, cpus: 4.5, cards: [0], ram_mb: 8_000, since: timeAt(1) }],
      },
    ],
    waiting: [
      {
        node: 'boiler.train',
        run: runId(1),
        asked: { cpus: null, gpus: null, ram_mb: null, flavor: 'gpu-large' },
        needs: { cpus: 8, gpus: 2, ram_mb: null, flavor: 'gpu-large' },
        since: timeAt(5),
        position: 1,
        device: null,
      },
    ],
    waiting_count: 1,
    runs: { count: 4, free: 1, set_aside: 2, wanting: 1 },
  }
  const { stdout, code } = await against(
    t,
    {
      'GET /observability/summary': {
        answer: {
          version: '0.1.5',
          status: 'ok',
          uptime_s: 1,
          flows: { total: 0, enabled: 0, with_issues: 0 },
          backlog: [],
          nodes_down: 0,
          node_errors: 0,
          cascades: { in_flight: 0, limit: 1 },
          threads: [],
          dropped: {},
          disk: [],
          front: { held: 0, longest_ms: 0 },
          memory: { rss_bytes: 0, arena_bytes: 0, arena_limit_bytes: 0 },
        },
      },
      'GET /runs': { answer: { items: [], count: 0, counts: { a: { total: 4, live: 1 }, b: { total: 3, live: 2 } } } },
      'GET /workers/resources': { answer: resources },
    },
    ['status'],
  )
  assert.equal(code, 0)
  assert.match(stdout, /^runs +7, 3 queued or running$/m)
  assert.match(stdout, /^places +1 of 4 free; runs without a place: 2, 1 of them ready$/m)
  assert.match(stdout, /^machine +local: 1\.5 of 6 cores free, 1 of 2 cards, 8000 of 16000 MB; 1 claim$/m)
  assert.match(stdout, /^boiler\.train +1 +2026-01-02 00:00:05 +\S+ +8 cores 2 cards \(gpu-large\)$/m)
})

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { givenInput, givenList, product } from '../../../../../clients/cli/given-values.ts'
import type { CreateRun, Run } from '../../../../../protocol/nouns/run.ts'
import { ApiDouble, type Scripted } from '../../../../kit/api-double.ts'
import { listOf, runId, runOf } from '../../../../kit/run-answers.ts'
import { eventually } from '../../../../kit/spawned.ts'
import { against, ended, svc } from '../../../../kit/svc-against.ts'

/** An engine that keeps runs by their keys; `ending` says how a new one ends. */
async function keeping(t: TestContext, ending: (inputs: Record<string, unknown>, attempt: number) => Run['status']) {
  const runs: Run[] = []
  /** What a run would execute now. */
  const state = {
    flow: 'boiler',
    version: 3,
    commit: 'c'.repeat(64),
    content_digest: 'one',
    code_digest: 'first code',
    origin_commit: null,
  }
  const selected = (query: Record<string, string>): Run[] =>
    runs
      .filter(run => query['group'] === undefined || run.groups.includes(query['group']))
      .filter(run => query['before'] === undefined || run.created_at < query['before'])
      .toReversed()
      .slice(0, Number(query['limit']))
  const add = (
    flow: string,
    { idempotency_key = null, group = null, inputs = {} }: Partial<Run>,
    more: Partial<Run> = {},
  ) => {
    const inputs_digest = JSON.stringify(inputs)
    const attempt = 1 + runs.filter(run => run.inputs_digest === inputs_digest).length
    const status = ending(inputs, attempt)
    const { code_digest } = state
    const groups = group === null ? [] : [group]
    const fields = { flow, status, idempotency_key, group, groups, inputs, inputs_digest, code_digest, ...more }
    const run = runOf(runs.length + 1, fields)
    runs.push(run)
    return run
  }
  const script: Record<string, Scripted> = {
    'GET /runs/flows/boiler': { act: () => state },
    'GET /runs': { act: ({ query }) => ({ ...listOf(...selected(query)), counts: {} }) },
    'GET /runs/cafe0001/logs': { answer: { run: runId(0xcafe0001), items: [], next_after: null, dropped: 0 } },
    'POST /runs/flows/boiler': {
      act: ({ body }, response) => {
        const request = body as CreateRun
        const before = runs.find(run => run.idempotency_key === request.idempotency_key)
        if (before === undefined) return add('boiler', request as Partial<Run>)
        response.setHeader('idempotency-replayed', 'true')
        before.groups = [...new Set([...before.groups, request.group!])]
        return before
      },
    },
  }
  for (let number = 1; number <= 4; number++) {
    script[`GET /runs/${runId(number)}`] = { act: () => runs[number - 1] }
    script[`POST /runs/${runId(number)}/cancel`] = { act: () => runs[number - 1] }
  }
  const api = await ApiDouble.start(t, script)
  const sweep = async (...argv: string[]) => ended(svc(t, api, ['sweep', 'boiler', ...argv]))
  return { api, runs, state, sweep, add }
}

describe('svc sweep', () => {
  const GRID = ['--param', 'a=1,2', '--param', 'b=x,[1,2]']

  test('starts a run for every combination and prints a line for each', async t => {
    const { runs, sweep } = await keeping(t, () => 'succeeded')
    const { code, stdout, stderr } = await sweep(...GRID)
    assert.equal(code, 0, stderr)
    assert.deepEqual(
      runs.map(run => run.inputs).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
      [
        { a: 1, b: 'x' },
        { a: 1, b: [1, 2] },
        { a: 2, b: 'x' },
        { a: 2, b: [1, 2] },
      ],
    )
    assert.match(stdout, /^2 +\[1,2\] +\S+ +succeeded +2 s +yes$/m)
    const groups = new Set(runs.map(run => run.group))
    assert.equal(groups.size, 1)
    assert.ok(stderr.includes(`4 of 4 runs started, group ${[...groups][0]}`), stderr)
  })

  test('again starts nothing, a larger grid what is missing, another state of the flow all of it', async t => {
    const { runs, state, sweep } = await keeping(t, () => 'succeeded')
    await sweep(...GRID)
    assert.match((await sweep(...GRID)).stderr, /0 of 4 runs started/)
    assert.match((await sweep('--param', 'b=x,y,[1,2]', '--param', 'a=1,2')).stderr, /2 of 6 runs started/)
    state.content_digest = 'another'
    assert.match((await sweep(...GRID)).stderr, /4 of 4 runs started/)
    assert.equal(runs.length, 10)
  })

  test('takes a reference by a short id for the same as by the whole one', async t => {
    const { sweep } = await keeping(t, () => 'succeeded')
    assert.match((await sweep('--param', 'a=@run:cafe0001.total')).stderr, /1 of 1 runs started/)
    assert.match((await sweep('--param', `a=@run:${runId(0xcafe0001)}.total`)).stderr, /0 of 1 runs started/)
  })

  test('executes everything again after the code changed, without the cache, and with another timeout, seed or key', async t => {
    const { runs, state, sweep } = await keeping(t, () => 'succeeded')
    const grid = ['--param', 'a=1,2']
    const ids = async (): Promise<string[]> =>
      JSON.parse((await sweep(...grid, '--json')).stdout).items.map(({ run }: { run: Run }) => run.id)
    const first = await ids()
    assert.deepEqual([...first].sort(), [runId(1), runId(2)])
    state.code_digest = 'second code'
    assert.match((await sweep(...grid)).stderr, /2 of 2 runs started/)
    for (const option of [['--no-cache'], ['--timeout', '60'], ['--seed', '7'], ['--key', 'again']]) {
      assert.match((await sweep(...grid, ...option)).stderr, /2 of 2 runs started/)
      assert.match((await sweep(...grid, ...option)).stderr, /0 of 2 runs started/)
    }
    assert.equal(runs.length, 12)
    state.code_digest = 'first code'
    assert.deepEqual(await ids(), first)
  })

  test('again does not take a run that was claimed after its code had changed', async t => {
    const { runs, sweep } = await keeping(t, () => 'succeeded')
    await sweep('--param', 'a=1')
    runs[0]!.code_digest = 'changed while it was queued'
    assert.match((await sweep('--param', 'a=1')).stderr, /1 of 1 runs started/)
    assert.match((await sweep('--param', 'a=1')).stderr, /0 of 1 runs started/)
  })

  test('puts runs that are there into the group that it names', async t => {
    const { runs, sweep } = await keeping(t, () => 'succeeded')
    await sweep('--param', 'a=1', '--group', 'small')
    assert.match((await sweep('--param', 'a=1,2', '--group', 'large')).stderr, /1 of 2 runs started, group large/)
    assert.deepEqual(
      runs.map(({ groups }) => groups),
      [['small', 'large'], ['large']],
    )
  })

  test('again starts what failed or was cancelled, under a key of its own', async t => {
    const { runs, sweep } = await keeping(t, ({ a }, attempt) => {
      if (attempt > 2) return 'succeeded'
      return a === 1 ? 'failed' : a === 2 ? 'cancelled' : 'succeeded'
    })
    const grid = ['--param', 'a=1,2,3']
    const first = await sweep(...grid)
    assert.equal(first.code, 1)
    assert.match(first.stderr, /3 of 3 runs started.*\n.*2 of 3 runs did not succeed/)
    assert.match((await sweep(...grid)).stderr, /2 of 3 runs started/)
    const third = await sweep(...grid)
    assert.deepEqual([third.code, runs.length], [0, 7])
    assert.match((await sweep(...grid)).stderr, /0 of 3 runs started/)
    assert.equal(new Set(runs.map(run => run.idempotency_key)).size, 7)
  })

  test('counts a run that svc retry made', async t => {
    const { runs, sweep, add } = await keeping(t, (_, attempt) => (attempt === 1 ? 'failed' : 'succeeded'))
    await sweep('--param', 'a=1')
    const { group, inputs, id } = runs[0]!
    add('boiler', { group, inputs }, { retry_of: id })
    add('boiler', { group, inputs })
    const { code, stdout, stderr } = await sweep('--param', 'a=1')
    assert.equal(code, 0, stderr)
    assert.match(stdout, new RegExp(`^1 +${runs[1]!.id} +succeeded .* no$`, 'm'))
  })

  test('starts nothing with --dry-run and prints what would be started', async t => {
    const { runs, api, sweep } = await keeping(t, ({ a }) => (a === 1 ? 'failed' : 'succeeded'))
    await sweep('--param', 'a=1,2')
    const posts = () => api.requests.filter(({ method }) => method === 'POST').length
    const before = posts()
    const { code, stdout, stderr } = await sweep('--param', 'a=1,2,3', '--dry-run')
    assert.deepEqual([code, posts(), runs.length], [0, before, 2])
    assert.match(stdout, /^1 .*failed +2 s +yes\n2 .*succeeded +2 s +no\n3 +missing +yes\n/m)
    assert.match(stderr, /2 of 3 runs would be started/)
    const json = await sweep('--param', 'a=2,3', '--dry-run', '--json')
    assert.partialDeepStrictEqual(JSON.parse(json.stdout), {
      items: [
        { inputs: { a: 2 }, started: false },
        { inputs: { a: 3 }, started: true, run: null },
      ],
    })
  })

  test('cancels on Ctrl-C what it started, and nothing else', async t => {
    const { api } = await keeping(t, () => 'running')
    const waits = () => api.requests.some(({ method, path }) => method === 'GET' && path === `/runs/${runId(2)}`)
    const other = svc(t, api, ['sweep', 'boiler', '--param', 'a=1', '--no-wait'])
    assert.equal((await ended(other)).code, 0)
    const command = svc(t, api, ['sweep', 'boiler', '--param', 'a=1,2'])
    await eventually('it waits', waits)
    command.child.kill('SIGINT')
    const { code, stderr } = await ended(command)
    assert.equal(code, 130)
    assert.match(stderr, /cancelling 1 runs/)
    assert.deepEqual(
      api.requests.filter(({ path }) => path.endsWith('/cancel')).map(({ path }) => path),
      [`/runs/${runId(2)}/cancel`],
    )
  })

  test('without a list ends with 2', async t => {
    assert.equal((await against(t, {}, ['sweep', 'boiler'])).code, 2)
  })
})

describe('inputs on the command line', () => {
  test('are JSON when they read as JSON, else the text', () => {
    const given = ['a=1', 'b=x=y', 'c="1"', 'd=', 'f.e={"x":[1,2]}', 'g=1,2'].reduce(
      (before: Record<string, unknown>, text) => givenInput(text, before),
      {},
    )
    assert.deepEqual(given, { a: 1, b: 'x=y', c: '1', d: '', 'f.e': { x: [1, 2] }, g: '1,2' })
  })

  test('are lists at the commas that are not within brackets or quotes', () => {
    const values = (text: string): unknown => givenList(`a=${text}`)['a']
    assert.deepEqual(values('1,x,true'), [1, 'x', true])
    assert.deepEqual(values('[1,2],{"a":[3,4]},"5,6\\",7"'), [[1, 2], { a: [3, 4] }, '5,6",7'])
    assert.deepEqual(values('a],b'), ['a]', 'b'])
    assert.deepEqual(values('1'), [1])
  })

  test('are combined with the last name changing fastest', () => {
    assert.deepEqual(product({ a: [1, 2], b: ['x', 'y'] }), [
      { a: 1, b: 'x' },
      { a: 1, b: 'y' },
      { a: 2, b: 'x' },
      { a: 2, b: 'y' },
    ])
    const many = Array.from({ length: 101 }, (_, at) => at)
    assert.throws(() => product({ a: many, b: many }), /10201 runs; a sweep has at most 10000/)
  })

  test('without a name, or with one twice, are a mistake', () => {
    for (const text of ['window', '=1', '__proto__ =1', 'a b=1'])
      assert.throws(() => givenInput(text), /expected <name>=<value>/)
    assert.throws(() => givenInput('a=2', { a: 1 }), /-p gives a twice/)
    assert.throws(() => givenList('a=2', { a: [1] }), /--param gives a twice/)
  })
})

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect } from '../../../clients/client/index.ts'
import type { FlowDocument } from '../../../protocol/nouns/flow-document.ts'
import type { Run } from '../../../protocol/nouns/run.ts'
import { withoutGit } from '../../kit/git.ts'
import { directoryFor, Spawned } from '../../kit/spawned.ts'

/** Scales x by k and tells a curve of it; 13 brings bad luck. What `wait_s` says passes before the last node ends. */
const SCALER: FlowDocument = {
  nodes: [
    {
      id: 'scale',
      type: 'code',
      source: `export default ({ x, k }, ctx) => {
        if (k === 13) throw new RangeError('unlucky')
        for (let step = 0; step < 5; step++) ctx.metric('loss', x / (step + 1), step)
        return { y: x * k }
      }`,
      ports: {
        inputs: [
          { name: 'x', dtype: 'float' },
          { name: 'k', dtype: 'float' },
        ],
        outputs: [{ name: 'y', dtype: 'float' }],
      },
    },
    {
      id: 'wait',
      type: 'code',
      source: `export default async ({ y, wait_s }) => {
        await new Promise(resolve => setTimeout(resolve, wait_s * 1000))
        return { z: y + 1 }
      }`,
      ports: {
        inputs: [
          { name: 'y', dtype: 'float' },
          { name: 'wait_s', dtype: 'float', trigger: false },
        ],
        outputs: [{ name: 'z', dtype: 'float' }],
      },
    },
  ],
  inputs: [
    { message: 'x', dtype: 'float' },
    { message: 'k', dtype: 'float', default: 2 },
    { message: 'wait_s', dtype: 'float', default: 0 },
  ],
}

/** An engine as a user runs it, with the flow in it. */
async function served(t: TestContext) {
  const cwd = directoryFor(t)
  const serve = Spawned.svc(t, { argv: ['serve', '--plain', '--port', '0'], cwd })
  const url = await serve.ready()
  const start = (...argv: string[]): Spawned => Spawned.svc(t, { argv, cwd })
  const svc = async (...argv: string[]) => {
    const run = start(...argv)
    const { code } = await run.ended
    return { code, stdout: run.stdout, stderr: run.stderr }
  }
  writeFileSync(join(cwd, 'scaler.json'), JSON.stringify(SCALER))
  assert.equal((await svc('flows', 'put', 'scaler', 'scaler.json')).code, 0)
  const runs = async (...argv: string[]): Promise<Run[]> =>
    JSON.parse((await svc('runs', 'list', '--json', ...argv)).stdout).items
  return { cwd, url, svc, start, runs }
}

test('a run is made, told, found in the cache, compared, swept, exported and tried again', async t => {
  const { svc, runs } = await served(t)
  const first = await svc('run', 'scaler', '-p', 'x=3', '--follow')
  assert.deepEqual([first.code, first.stdout], [0, 'message  value\nz        7\ny        6\n'], first.stderr)
  assert.match(first.stderr, /run_created .*\n(.*\n)*.*run_finished status=succeeded\n.*succeeded in/)

  const again = await svc('run', 'scaler', '-p', 'x=3', '--json')
  const [one, two] = [(await runs())[1]!, JSON.parse(again.stdout) as Run]
  assert.equal((await svc('why', two.id, 'scale')).stdout, `scale is cached: hit, from run ${one.id}\n`)
  const other = JSON.parse((await svc('run', 'scaler', '-p', 'x=4', '--json')).stdout) as Run
  assert.match((await svc('why', other.id, 'scale')).stdout, /these changed: values\.x$/m)
  const { differences } = JSON.parse((await svc('runs', 'diff', one.id, other.id, '--json')).stdout)
  assert.deepEqual(differences, [
    { path: 'inputs.x', a: 3, b: 4 },
    { path: 'result.y', a: 6, b: 8 },
    { path: 'result.z', a: 7, b: 9 },
  ])

  const grid = ['sweep', 'scaler', '--param', 'x=3,5', '--param', 'k=2,13']
  const sweep = await svc(...grid)
  assert.deepEqual([sweep.code, (await runs()).length], [1, 7], sweep.stderr)
  assert.match(sweep.stderr, /4 of 4 runs started.*\n.*2 of 4 runs did not succeed/)
  assert.match((await svc('sweep', 'scaler', '--param', 'x=3,5', '--param', 'k=2')).stderr, /0 of 2 runs started/)
  assert.match((await svc(...grid, '--dry-run')).stderr, /2 of 4 runs would be started/)
  const group = /group (\S+)/.exec(sweep.stderr)![1]!
  assert.equal((await svc('retry', '--group', group)).stdout.split('\n').length, 3)

  assert.equal((await svc('export', 'metrics', '--list')).stdout, 'scaler.scale.loss\n')
  const misspelled = await svc('export', 'metrics', 'scaller', '--list')
  assert.equal(misspelled.code, 3)
  assert.match(misspelled.stderr, /"scaller".*Did you mean "scaler"\?/)
  const csv = await svc('export', 'metrics', 'scaler', '--before', one.created_at.replace('+00:00', 'Z'))
  assert.equal(csv.stdout.trim(), 'run,name,step,value')
  const curve = (await svc('export', 'metrics', '--stride', '2', '--format', 'jsonl')).stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
    .filter(row => row.run === two.id)
  // The node was found in the cache: its curve is that of the run that executed it.
  assert.deepEqual(
    curve.map(({ name, step, value }) => [name, step, value]),
    [0, 2, 4].map(step => ['scaler.scale.loss', step, 3 / (step + 1)]),
  )
})

test('a sweep runs again after the code of the repository changed, and finds the runs of the code before', {
  skip: withoutGit,
}, async t => {
  const { cwd, svc, runs } = await served(t)
  const write = (factor: number): void => writeFileSync(join(cwd, 'factor.mjs'), `export const factor = ${factor}\n`)
  write(2)
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org']
  for (const words of [
    ['init', '-q'],
    ['add', 'factor.mjs'],
    [...identity, 'commit', '-qm', 'first'],
  ])
    execFileSync('git', words, { cwd })
  const scale = SCALER.nodes[0]!
  const source = `import { factor } from '../../factor.mjs'\nexport default ({ x }) => ({ y: x * factor })`
  const ports = { inputs: [{ name: 'x', dtype: 'float' }], outputs: [{ name: 'y', dtype: 'float' }] } as const
  const document = { nodes: [{ ...scale, source, ports }], inputs: [{ message: 'x', dtype: 'float' }] }
  writeFileSync(join(cwd, 'imports.json'), JSON.stringify(document))
  assert.equal((await svc('flows', 'put', 'imports', 'imports.json')).code, 0)
  const sweep = async () => {
    const { stdout, stderr } = await svc('sweep', 'imports', '--param', 'x=3,5', '--group', 'grid', '--json')
    const { items } = JSON.parse(stdout) as { items: { run: Run }[] }
    return [/(\d) of 2 runs started/.exec(stderr)?.[1], items.map(({ run }) => run.result?.['y'])]
  }
  assert.deepEqual(await sweep(), ['2', [6, 10]])
  assert.deepEqual(await sweep(), ['0', [6, 10]])
  write(3)
  assert.deepEqual(await sweep(), ['2', [9, 15]])
  write(2)
  assert.deepEqual(await sweep(), ['0', [6, 10]])
  assert.equal((await runs('--group', 'grid')).length, 4)
})

test('Ctrl-C cancels a run that is waited for', async t => {
  const { start, runs } = await served(t)
  const run = start('run', 'scaler', '-p', 'x=1', '-p', 'wait_s=60', '--follow')
  await run.stderrShows('run_started')
  run.child.kill('SIGINT')
  assert.equal((await run.ended).code, 130)
  assert.equal((await runs())[0]!.status, 'cancelled')
})

test('the client library follows a run of a real engine over its websocket', async t => {
  const { url, cwd } = await served(t)
  const client = connect({ url, token: readFileSync(join(cwd, '.svc/token'), 'utf8').trim() })
  t.after(() => client.close())
  const { run } = await client.runs.create('scaler', { inputs: { x: 1, wait_s: 0.2 }, idempotency_key: 'one' })
  const types: string[] = []
  const following = client.runs.follow(run.id)
  for (;;) {
    const next = await following.next()
    if (!next.done) types.push(next.value.type)
    else {
      assert.deepEqual([next.value.status, next.value.result], ['succeeded', { y: 2, z: 3 }])
      break
    }
  }
  assert.deepEqual([types[0], types.at(-1)], ['run_created', 'run_finished'])
  assert.equal(types.filter(type => type === 'run_started').length, 1)
  assert.equal(
    (await client.runs.create('scaler', { inputs: { x: 1, wait_s: 0.2 }, idempotency_key: 'one' })).replayed,
    true,
  )
  assert.deepEqual((await client.metrics.series({ run: run.id }, { stride: 4 })).items[0]?.steps, [0, 4])
  assert.equal((await client.runs.nodes(run.id)).count, 2)

  const bytes = Buffer.alloc(300_000, 7)
  const reference = await client.artifacts.put(bytes, { media_type: 'image/png', meta: { name: 'seven' } })
  assert.deepEqual([reference.media_type, reference.meta], ['image/png', { name: 'seven' }])
  const { stream, length } = await client.artifacts.get(reference.digest, { from: 299_998 })
  let read = 0
  for await (const part of stream) read += (part as Buffer).length
  assert.deepEqual([length, read], [2, 2])
})

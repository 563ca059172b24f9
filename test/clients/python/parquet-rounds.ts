/**
 * What pyarrow reads of the Parquet files that `svc export` writes: rows and types of columns. Run by `npm run rounds`; needs python3 with venv, and
 * PyPI once.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '../../../clients/client/client.ts'
import type { CreateRun } from '../../../protocol/nouns/run.ts'
import { code, flow, input, output } from '../../kit/live-story.ts'
import { printedBy, pythonIn } from '../../kit/python.ts'
import { directoryFor, Spawned } from '../../kit/spawned.ts'

interface Read {
  types: Record<string, string>
  logical: Record<string, string>
  rows: Record<string, unknown>[]
  groups: number
}

const MEASURES = flow(
  [
    code(
      'body',
      `export default ({ x, name, on, sizes }, ctx) => {
        for (let at = 0; at < x; at++) ctx.metric('løss', 1 / (at + 1), at)
        return { y: x / 2, curve: [x, ...sizes], named: name + on }
      }`,
      [input('x', 'int'), input('name', 'str'), input('on', 'bool'), input('sizes', 'json')],
      [output('y', 'float'), output('curve', 'json'), output('named', 'str')],
    ),
  ],
  { message: 'x', dtype: 'int' },
  { message: 'name', dtype: 'str' },
  { message: 'on', dtype: 'bool' },
  { message: 'sizes', dtype: 'json' },
)
const RUNS: CreateRun[] = [
  { inputs: { x: 2, name: 'pump 1, "ü"', on: true, sizes: [1, 2] }, seed: 7, group: 'night', tags: ['a', 'b'] },
  { inputs: { x: 3, name: '', on: false, sizes: [] }, note: 'as\nbefore' },
]

test('pyarrow reads the rows of exports, each column in its type', async t => {
  const home = directoryFor(t)
  const bin = pythonIn(t, home, join(import.meta.dirname, 'parquet-requirements.txt'))
  if (bin === null) return
  const data_dir = join(home, '.svc')
  const engine = Spawned.svc(t, { cwd: home, argv: ['serve', '--plain', '--port', '0', '--data-dir', data_dir] })
  const url = (await engine.ready()).replace(/\/$/, '')
  const client = new Client({ url, token: readFileSync(join(data_dir, 'token'), 'utf8').trim() })
  t.after(() => client.close())
  await client.flows.save('measures', { document: MEASURES })
  const ids: string[] = []
  for (const request of RUNS) {
    const { run } = await client.runs.create('measures', request)
    assert.equal((await client.runs.wait(run.id)).status, 'succeeded')
    ids.push(run.id)
  }
  const read = async (...words: string[]): Promise<Read> => {
    const file = join(home, `${words[0]}.parquet`)
    const exported = Spawned.svc(t, { cwd: home, argv: ['export', ...words, '--format', 'parquet', '-o', file] })
    assert.equal((await exported.ended).code, 0, exported.stderr)
    return JSON.parse(
      printedBy(join(bin, 'python'), [join(import.meta.dirname, 'read_parquet.py'), file], home),
    ) as Read
  }

  const metrics = await read('metrics', 'measures')
  assert.deepEqual(metrics.types, { run: 'string', name: 'string', step: 'double', value: 'double' })
  assert.deepEqual(
    metrics.rows,
    RUNS.flatMap(({ inputs }, at) =>
      Array.from({ length: inputs!['x'] as number }, (_, step) => ({
        run: ids[at],
        name: 'measures.body.løss',
        step,
        value: 1 / (step + 1),
      })),
    ),
  )

  const columns = 'seed,group,groups,tags,note,created_at,error'
  const runs = await read('runs', 'measures', '--columns', columns, '--metrics', 'measures.body.løss')
  assert.partialDeepStrictEqual(runs.types, {
    run: 'string',
    status: 'string',
    duration: 'double',
    seed: 'double',
    group: 'string',
    note: 'string',
    created_at: 'timestamp[us, tz=UTC]',
    error: 'string',
    'inputs.x': 'double',
    'inputs.name': 'string',
    'inputs.on': 'bool',
    'result.y': 'double',
    'metrics.measures.body.løss': 'double',
  })
  for (const json of ['groups', 'tags', 'inputs.sizes', 'result.curve']) assert.equal(runs.logical[json], 'JSON', json)
  const [first, second] = runs.rows
  assert.partialDeepStrictEqual(first, {
    run: ids[0],
    status: 'succeeded',
    seed: 7,
    group: 'night',
    tags: '["a","b"]',
    'inputs.name': 'pump 1, "ü"',
    'inputs.on': true,
    'result.y': 1,
    'metrics.measures.body.løss': 0.5,
  })
  assert.partialDeepStrictEqual(second, { run: ids[1], seed: null, group: null, note: 'as\nbefore', 'inputs.name': '' })
  assert.match(String(first!['created_at']), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
})

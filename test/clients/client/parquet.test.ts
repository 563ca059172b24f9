import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { Client } from '../../../clients/client/client.ts'
import type { ClientError } from '../../../clients/client/client-error.ts'
import type { Export } from '../../../clients/client/exports/exports.ts'
import { loadParquet } from '../../../clients/client/exports/parquet-file.ts'
import { formatTime } from '../../../protocol/time.ts'
import { ApiDouble, type Scripted } from '../../kit/api-double.ts'
import { ROOT } from '../../kit/sources.ts'
import { directoryFor } from '../../kit/spawned.ts'

/** A client of an engine whose exports are these rows, in pieces that end anywhere. */
async function clientOf(t: TestContext, path: string, rows: readonly object[], whole = true): Promise<Client> {
  const jsonl = Buffer.from(rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const script: Scripted = {
    act: ({ query }, response) => {
      assert.equal(query['format'], 'jsonl')
      for (let at = 0; at < jsonl.length; at += 10_007) response.write(jsonl.subarray(at, at + 10_007))
      if (whole) response.end()
      else setImmediate(() => response.destroy())
      return undefined
    },
  }
  const { url } = await ApiDouble.start(t, { [`GET ${path}`]: script })
  const client = new Client({ url })
  t.after(() => client.close())
  return client
}

/** Read by another library than the one that wrote it. */
async function read({ stream }: Export) {
  const bytes = await buffer(stream)
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  const { row_groups, schema } = parquetMetadata(file)
  const types = schema.slice(1).map(({ name, type, converted_type }) => [name, converted_type ?? type])
  // To the microsecond, which a Date does not hold.
  const parsers = { timestampFromMicroseconds: (us: bigint) => formatTime(Number(us)) }
  return {
    rows: await parquetReadObjects({ file, parsers: parsers as never }),
    groups: row_groups.length,
    types: Object.fromEntries(types),
  }
}

const METRICS = '/runs/metrics/export'
const RUNS = '/runs/export'
const runRow = (more: object) => ({
  run: 'r1',
  flow: 'f',
  status: 'succeeded',
  duration: 1.5,
  commit: 'c',
  code_digest: null,
  ...more,
})

describe('an export as Parquet', () => {
  test('has a typed row for each run, metric and step, in row groups of a bounded size', async t => {
    const rows = Array.from({ length: 70_000 }, (_, at) => ({
      run: `run-${Math.floor(at / 30_000)}`,
      name: at % 2 === 0 ? 'f.a.løss' : 'f.b.x',
      step: at / 2,
      value: Math.sin(at),
    }))
    const client = await clientOf(t, METRICS, rows)
    const { rows: found, groups, types } = await read(await client.metrics.export({}, { format: 'parquet' }))
    assert.deepEqual(types, { run: 'UTF8', name: 'UTF8', step: 'DOUBLE', value: 'DOUBLE' })
    assert.equal(groups, 2)
    assert.deepEqual(found, rows)
  })

  test('has a column for each input and number of a run, of the kind that its values are', async t => {
    const rows = [
      runRow({
        'inputs.mode': 'fast',
        'inputs.on': true,
        'inputs.seed': null,
        'inputs.sizes': [1, 2],
        'inputs.any': 'x',
        'inputs.none': null,
        'result.model.loss': 0.25,
        'metrics.f.a.x': null,
      }),
      runRow({
        status: 'failed',
        duration: null,
        code_digest: 'd',
        'inputs.mode': '',
        'inputs.on': null,
        'inputs.seed': 7,
        'inputs.sizes': null,
        'inputs.any': 3,
        'inputs.none': null,
        'result.model.loss': null,
        'metrics.f.a.x': 1,
      }),
    ]
    const client = await clientOf(t, RUNS, rows)
    const { rows: found, types } = await read(await client.runs.export({}, { format: 'parquet' }))
    assert.deepEqual(found, rows)
    assert.deepEqual(types, {
      run: 'UTF8',
      flow: 'UTF8',
      status: 'UTF8',
      duration: 'DOUBLE',
      commit: 'UTF8',
      code_digest: 'UTF8',
      'inputs.mode': 'UTF8',
      'inputs.on': 'BOOLEAN',
      'inputs.seed': 'DOUBLE',
      'inputs.sizes': 'JSON',
      'inputs.any': 'JSON',
      'inputs.none': 'UTF8',
      'result.model.loss': 'DOUBLE',
      'metrics.f.a.x': 'DOUBLE',
    })
  })

  test('has the further columns of runs in types of their own, and lists of results whole', async t => {
    const rows = [
      runRow({
        seed: 7,
        group: 'night',
        groups: ['night', 'second, with a comma'],
        tags: ['a'],
        note: 'as before',
        created_at: '2026-01-02T00:00:05.123456+00:00',
        error: null,
        'result.curve': [1, 2],
        'result.loss': 0.5,
      }),
      runRow({
        seed: null,
        group: null,
        groups: [],
        tags: [],
        note: '',
        created_at: '2026-01-02T00:00:06.000001+00:00',
        error: 'timeout: It ran on.',
        'result.curve': null,
        'result.loss': 1,
      }),
    ]
    const client = await clientOf(t, RUNS, rows)
    const { rows: found, types } = await read(await client.runs.export({}, { format: 'parquet' }))
    assert.deepEqual(
      Object.entries(types).slice(6),
      Object.entries({
        seed: 'DOUBLE',
        group: 'UTF8',
        groups: 'JSON',
        tags: 'JSON',
        note: 'UTF8',
        created_at: 'TIMESTAMP_MICROS',
        error: 'UTF8',
        'result.curve': 'JSON',
        'result.loss': 'DOUBLE',
      }),
    )
    assert.deepEqual(found, rows)
  })

  test('of no run is a file with its columns and no row', async t => {
    const metrics = await read(await (await clientOf(t, METRICS, [])).metrics.export({}, { format: 'parquet' }))
    assert.deepEqual([metrics.rows, Object.keys(metrics.types)], [[], ['run', 'name', 'step', 'value']])
    const runs = await read(await (await clientOf(t, RUNS, [])).runs.export({}, { format: 'parquet' }))
    assert.deepEqual([runs.rows, Object.keys(runs.types)], [[], Object.keys(runRow({}))])
  })

  test('fails when the engine breaks off, and leaves nothing behind, as little as one that is read to its end', async t => {
    const folder = directoryFor(t)
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = folder
    t.after(() => {
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    })
    const rows = Array.from({ length: 1_000 }, () => runRow({ 'inputs.a': 'x'.repeat(100) }))
    const broken = await clientOf(t, RUNS, rows, false)
    await assert.rejects(buffer((await broken.runs.export({}, { format: 'parquet' })).stream), /aborted/)
    assert.deepEqual(readdirSync(folder), [])
    const whole = await clientOf(t, RUNS, rows)
    assert.equal((await read(await whole.runs.export({}, { format: 'parquet' }))).rows.length, 1_000)
    assert.deepEqual(readdirSync(folder), [])
  })

  test('says what to install where the package is missing, in the version that this release goes with', async () => {
    const missing = 'no-such-package'
    const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    await assert.rejects(
      loadParquet(() => import(missing)),
      (error: ClientError) =>
        error.kind === 'lacking' &&
        error.message.includes(`"npm install hyparquet-writer@${optionalDependencies['hyparquet-writer']}"`),
    )
  })
})

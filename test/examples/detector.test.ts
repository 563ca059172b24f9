import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parquetReadObjects } from 'hyparquet'
import { type Client, connect } from '../../clients/client/index.ts'
import { example } from '../../docs/examples/index.ts'
import type { RunSummary } from '../../protocol/nouns/run.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { RealEngine } from '../kit/real-engine.ts'
import { ROOT } from '../kit/sources.ts'
import { directoryFor, Endings, Spawned } from '../kit/spawned.ts'

/** The page of the example, typed command by command into a shell beside a real engine; the tests go in its order. */
const PAGE = readFileSync(join(ROOT, 'docs', 'examples', 'detector', 'README.md'), 'utf8')
const COMMANDS = [...PAGE.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, commands]) => commands!)
const SHOWN = [...PAGE.matchAll(/^```\n(0\.[\s\S]*?)^```/gm)].map(([, output]) => output!)
const [PUT, SWEEP, READ, MODEL, CURVES, CHANGE, CHANGED] = COMMANDS as [
  string,
  string,
  string,
  string,
  string,
  string,
  string,
]

const life = new Endings()
let folder: string
let client: Client
before(async () => {
  folder = directoryFor(life)
  for (const name of ['svc', 'docs']) symlinkSync(join(ROOT, name), join(folder, name))
  const engine = await RealEngine.start(life, { data_dir: join(folder, '.svc') })
  client = connect(engine)
  life.after(() => client.close())
})
after(() => life.end())

/** Types commands into a shell, which ends with the first that fails. */
async function type(commands: string): Promise<{ stdout: string; stderr: string }> {
  const shell = new Spawned(life, 'sh', ['-ec', commands], { cwd: folder })
  const { code } = await shell.ended
  assert.equal(code, 0, `${commands}\n${shell.stderr}`)
  return shell
}

async function runsOf(group: string): Promise<RunSummary[]> {
  const runs: RunSummary[] = []
  for await (const run of client.runs.list({ flow: 'detector', group })) runs.push(run)
  return runs
}

/** How often a node executed in the runs; it was cached in all others. */
async function executed(runs: readonly RunSummary[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { id } of runs) {
    for (const { node, status } of (await client.runs.nodes(id)).items) {
      assert.ok(status === 'succeeded' || status === 'cached', `${node} of ${id} is ${status}`)
      counts[node] = (counts[node] ?? 0) + (status === 'succeeded' ? 1 : 0)
    }
  }
  return counts
}

describe('the experiment of the detector example', () => {
  test('has data whose digests the flow names', async () => {
    const digests = (await type(PUT)).stdout.split('\n').filter(line => line.startsWith('sha256:'))
    const { inputs = [] } = example('detector').document
    const given = (message: string): unknown => inputs.find(input => input.message === message)?.default
    const files = Object.values(given('files') as Record<string, ArtifactReference>)
    assert.deepEqual(
      [...files, given('labels') as ArtifactReference].map(({ digest }) => digest),
      digests,
    )
  })

  test('makes 27 runs, in which what they have in common executes once', async () => {
    assert.match((await type(SWEEP)).stderr, /27 of 27 runs started, group grid/)
    const counts = await executed(await runsOf('grid'))
    assert.deepEqual(counts, { load: 3, smooth: 9, baseline: 9, alarms: 27, score: 27 })
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
    assert.ok(PAGE.includes(`make 135, of which ${total} execute`))
  })

  test('starts nothing when it is typed again', async () => {
    assert.match((await type(SWEEP)).stderr, /0 of 27 runs started/)
    assert.equal((await runsOf('grid')).length, 27)
  })

  test('finds the best settings that the page names', async () => {
    const { stdout } = await type(READ)
    assert.equal(stdout.slice(-SHOWN[0]!.length), SHOWN[0])
  })

  test('comes to the figures that the page has', async () => {
    const runs = await runsOf('grid')
    const rows = PAGE.split('\n').filter(line => /^\| \**\d/.test(line))
    assert.equal(rows.length, 9)
    for (const row of rows) {
      const [window, threshold, ...told] = row
        .replaceAll('*', '')
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim())
      const results = ['machine', 'ambient', 'cpu'].map(series => {
        const { inputs, result } = runs.find(
          ({ inputs }) =>
            inputs['series'] === series &&
            inputs['window'] === Number(window) &&
            inputs['threshold'] === Number(threshold),
        )!
        assert.deepEqual(Object.keys(inputs), ['series', 'window', 'threshold'])
        return result as Record<'hits' | 'missed' | 'false_alarms' | 'precision' | 'recall' | 'f1', number>
      })
      const mean = results.reduce((sum, { f1 }) => sum + f1, 0) / 3
      const cells = results.flatMap(({ hits, false_alarms, f1 }) => [`${hits}, ${false_alarms}`, f1.toFixed(2)])
      assert.deepEqual(told, [...cells, mean.toFixed(2)])
      assert.deepEqual(
        results.map(({ hits, missed }) => hits + missed),
        [4, 2, 1],
      )
      for (const { hits, false_alarms, precision, recall, f1 } of results) {
        assert.equal(precision, hits / (hits + false_alarms))
        assert.ok(Math.abs(f1 - (2 * precision * recall) / (precision + recall)) < 1e-12)
      }
    }
  })

  test('keeps the model of each run under the digest of its bytes', async () => {
    const { stdout } = await type(MODEL)
    assert.match(stdout, /^alarms is succeeded: miss/m)
    const bytes = readFileSync(join(folder, 'model.json'))
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    const runs = await Promise.all((await runsOf('grid')).map(({ id }) => client.runs.get(id)))
    const { inputs, result } = runs.find(run => (run.result!['model'] as ArtifactReference).digest === digest)!
    assert.deepEqual(inputs, { series: 'machine', window: 6, threshold: 3 })
    assert.equal((result!['model'] as ArtifactReference).size, bytes.length)
    const model = JSON.parse(bytes.toString())
    assert.deepEqual([model.window, model.threshold, model.clear_at, model.clip], [6, 3, 1.5, 3])
    assert.ok(model.mean > 80 && model.mean < 100 && model.spread > 1, bytes.toString())
  })

  test('has curves that can be drawn, also in runs whose node was cached', async () => {
    const { stdout } = await type(CURVES)
    assert.equal(stdout, 'detector.alarms.raised\ndetector.baseline.deviation\ndetector.smooth.smoothed\n')
    const rows = readFileSync(join(folder, 'deviations.csv'), 'utf8').trim().split('\n').slice(1)
    const lengths = Object.values(Object.groupBy(rows, row => row.split(',')[0]!)).map(curve => curve!.length)
    assert.equal(lengths.length, 27)
    for (const length of lengths) assert.ok(length > 150 && length <= 200, String(length))
    const { buffer } = new Uint8Array(readFileSync(join(folder, 'curves.parquet')))
    const points = await parquetReadObjects({ file: buffer })
    const deviations = points.filter(({ name }) => name === 'detector.baseline.deviation')
    assert.deepEqual(
      deviations.map(({ run, name, step, value }) => `${run},${name},${step},${value}`),
      rows,
    )
  })

  test('executes only what reads a setting that has changed, and what that changes', async () => {
    assert.match((await type(CHANGE)).stdout, /^baseline is succeeded: miss; since run \S+ these changed: settings$/m)
    const { stdout, stderr } = await type(CHANGED)
    assert.match(stderr, /27 of 27 runs started, group clip-2/)
    const { load, smooth, baseline } = await executed(await runsOf('clip-2'))
    assert.deepEqual({ load, smooth, baseline }, { load: 0, smooth: 0, baseline: 8 })
    assert.equal(stdout.slice(-SHOWN[1]!.length), SHOWN[1])
  })
})

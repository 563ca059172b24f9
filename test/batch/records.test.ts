import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { withoutGit } from '../kit/git.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, refused } from '../kit/live-story.ts'
import { StoredFiles } from '../kit/stored-artifacts.ts'

/** What a run records of what it was given and of the code around it. */
const live = sharedEngine({ FLOW_MAX_WORKERS: '2', FLOW_MAX_RUNS: '2' })

const ABSENT = `sha256:${'ab'.repeat(32)}`
const reads = (dtype: Dtype, source = 'export default () => {}') =>
  flow([code('body', source, [input('x', dtype)], [])], { message: 'x', dtype })
const stored = async (text: string): Promise<string> => {
  async function* bytes() {
    yield Buffer.from(text)
  }
  return (await live.engine.artifacts.put(bytes(), text.length)).digest
}

test('the commit that came with a run stays beside the one that the engine reads', { skip: withoutGit }, async () => {
  const story = new BatchStory(live.engine)
  const git = (...words: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...words], {
      cwd: live.data_dir,
      encoding: 'utf8',
    }).trim()
  git('init', '-q')
  git('commit', '-q', '--allow-empty', '-m', 'first')
  await story.save('stamped', reads('int'))
  const given = await story.runs('stamped', { inputs: { x: 1 }, origin_commit: 'e'.repeat(40) })
  assert.deepEqual([given.origin_commit, given.code_commit], ['e'.repeat(40), git('rev-parse', 'HEAD')])
  const alone = await story.runs('stamped', { inputs: { x: 1 } })
  assert.deepEqual([alone.origin_commit, alone.code_commit], [alone.code_commit, git('rev-parse', 'HEAD')])
})

test('a failed node keeps the inputs of the execution that failed, unless they are large', async () => {
  const story = new BatchStory(live.engine)
  await story.save('fails', reads('json', 'export default ({ x }) => { throw new RangeError("no " + typeof x) }'))
  const failed = async (x: unknown) => {
    const run = await story.runs('fails', { inputs: { x } })
    assert.deepEqual([run.status, run.error!.inputs], ['failed', undefined])
    return (await story.node(run.id, 'body')).error!.inputs
  }
  assert.deepEqual(await failed({ level: 3 }), { x: { level: 3 } })
  assert.equal(await failed('x'.repeat(20_000)), null)
})

test('an input that names bytes which are not stored is refused, on every dtype and as a reference', async () => {
  const story = new BatchStory(live.engine)
  const digest = await stored('these are there')
  for (const dtype of ['str', 'json', 'artifact'] as const) {
    await story.save(`takes_${dtype}`, reads(dtype))
    assert.equal(await refused(story.create(`takes_${dtype}`, { inputs: { x: ABSENT } })), 'bad_input')
    assert.equal((await story.runs(`takes_${dtype}`, { inputs: { x: digest } })).status, 'succeeded')
    if (dtype === 'str') continue
    const reference = { digest: ABSENT, media_type: 'text/plain' }
    assert.equal(await refused(story.create(`takes_${dtype}`, { inputs: { x: reference } })), 'bad_input')
    const there = await story.runs(`takes_${dtype}`, { inputs: { x: { ...reference, digest } } })
    assert.equal(there.status, 'succeeded')
  }
})

test('a text that names a digest holds it against the sweep as a reference does', async () => {
  const story = new BatchStory(live.engine)
  const digest = await stored('held by a text')
  await story.save('names', reads('str'))
  await story.runs('names', { inputs: { x: digest } })
  new StoredFiles(live.data_dir).age(digest, 2 * limits.ARTIFACT_SPARED_S)
  const { removed, recorded } = await live.engine.artifacts.sweep()
  assert.deepEqual([removed, recorded], [0, 1])
})

test('an export of a flow or a metric that there is not is refused by its name', async () => {
  const story = new BatchStory(live.engine)
  await story.save('measures', reads('int', 'export default ({ x }, ctx) => ctx.metric("loss", x, 0)'))
  await story.runs('measures', { inputs: { x: 1 } })
  const { runs } = live.engine
  const every = {
    flow: 'measures',
    group: null,
    status: null,
    since: null,
    before: null,
    format: 'csv',
    raw: false,
  } as const
  const code = async (change: Promise<{ close(): void }>) => refused(change.then(pages => pages.close()))
  assert.equal(await code(runs.exportRuns({ ...every, flow: 'nothing', metrics: [], columns: [] })), 'flow_not_found')
  await story.runs('measures', { inputs: { x: 1 }, group: 'night', tags: ['baseline'] })
  const told = (more: object): Promise<string> =>
    runs.exportRuns({ ...every, metrics: [], columns: [], ...more }).then(
      pages => {
        pages.close()
        return 'it answered'
      },
      error => `${error.code}: ${error.detail}`,
    )
  assert.match(await told({ group: 'nigth' }), /^group_not_found: .*"nigth".*Did you mean "night"\?/)
  assert.match(await told({ tags: ['baseline', 'basline'] }), /^tag_not_found: .*"basline".*Did you mean "baseline"\?/)
  assert.equal(await told({ group: 'night', tags: ['baseline'], status: 'failed' }), 'it answered', 'both exist')
  const selection = { flow: 'measure', group: null, status: null, since: null, before: null }
  assert.match(
    await runs.metricNames(selection).then(
      () => 'it answered',
      error => `${error.code}: ${error.detail}`,
    ),
    /^flow_not_found: .*"measure".*Did you mean "measures"\?/,
  )
  assert.match(
    await runs.exportMetrics({ ...every, name: 'measures.body.los', stride: 1 }).then(
      () => 'it answered',
      error => `${error.code}: ${error.detail}`,
    ),
    /^metric_not_found: .*measures\.body\.los\. Did you mean "measures\.body\.loss"\?/,
  )
  const metrics = ['measures.body.loss', 'measures.body.los']
  assert.equal(await code(runs.exportRuns({ ...every, metrics, columns: [] })), 'metric_not_found')
  ;(await runs.exportRuns({ ...every, metrics: ['measures.body.loss'], columns: [] })).close()
})

test('a node whose device no worker carries waits, says so, and can be cancelled', async () => {
  const story = new BatchStory(live.engine)
  const node = code('body', 'export default ({ x }) => ({ y: x })', [input('x', 'int')], [], { device: 'bench-7' })
  await story.save('elsewhere', flow([node], { message: 'x', dtype: 'int' }))
  const { id } = await story.create('elsewhere', { inputs: { x: 1 } })
  const status = async () => (await story.node(id, 'body'))?.status
  await eventually(async () => (await status()) === 'queued', 'its node waits')
  await live.engine.runs.cancel(id, 'tests')
  assert.equal((await story.ended(id)).status, 'cancelled')
})

test('series that are cut at a bound say where they go on, and others do not', async () => {
  const story = new BatchStory(live.engine)
  const body = 'export default ({ x }, ctx) => { for (let at = 0; at < x; at++) ctx.metric("loss", at, at) }'
  await story.save('curves', reads('int', body))
  const run = await story.runs('curves', { inputs: { x: 4 } })
  const every = { flow: null, group: null, status: null, since: null, before: null }
  const asked = async (limit: number) => {
    const asks = { ...every, run: run.id, name: null, stride: 1, offset: 0, limit }
    const { items, next } = await live.engine.runs.series(asks)
    return [items.flatMap(({ steps, values }) => [steps.length, values.length]), next]
  }
  assert.deepEqual(await asked(3), [[3, 3], 3])
  assert.deepEqual(await asked(4), [[4, 4], undefined])
})

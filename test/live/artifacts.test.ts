import assert from 'node:assert/strict'
import { chmodSync, truncateSync } from 'node:fs'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'
import { digestOfBytes, StoredFiles } from '../kit/stored-artifacts.ts'

const BOUND = 1_000_000
const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '2', MAX_ARTIFACT_BYTES: String(BOUND) })
/** For the sweeps, which count what they see. */
const swept = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '2' })

const kept = sharedEngine({
  FLOW_LANES: '1',
  FLOW_MAX_WORKERS: '2',
  ARTIFACTS_KEEP_MB: '1',
  ARTIFACTS_KEEP_DAYS: '30',
})

const SLOT = { timeout: 60 }
const json = (message: string) => ({ message, dtype: 'json' as const })
const STORE = `export default async ({ text }, ctx) => ({ page: await ctx.artifact(text, 'text/plain', { meta: { from: 'test' } }) })`
const READ = 'export default async ({ page }, ctx) => ({ back: String(await ctx.read(page)) })'
const passing = (first: object, second: object) =>
  flow(
    [
      code('store', STORE, [input('text', 'str')], [output('page', 'artifact')], first),
      code('read', READ, [input('page', 'artifact')], [output('back', 'str')], second),
    ],
    { message: 'text', dtype: 'str' },
  )
const HTTP = async (path: string): Promise<Response> => {
  const { readFileSync } = await import('node:fs')
  const token = readFileSync(`${live.data_dir}/token`, 'utf8')
  return fetch(live.url + path, { headers: { authorization: `Bearer ${token}` } })
}

/** Runs the body of one node once with `x`, and answers what `y` becomes or the code of its error. */
async function outcome(name: string, source: string, x: unknown = null): Promise<unknown> {
  const story = new Story(live.engine)
  await story.save(name, flow([code('body', source, [input('x')], [output('y')])], json('x')))
  story.publish(`${name}.x`, x)
  let failed: string | undefined
  await eventually(async () => {
    failed = (await live.engine.nodes.errors(`${name}.body`)).items[0]?.code
    return failed !== undefined || story.version(`${name}.y`) > 0
  }, `${name} has run`)
  return failed ?? story.value(`${name}.y`)
}

test('what one body stores another reads, and HTTP serves it, on lanes and in call slots alike', async () => {
  const story = new Story(live.engine)
  for (const [name, first, second] of [
    ['inline', {}, {}],
    ['slots', SLOT, SLOT],
    ['mixed', {}, SLOT],
  ] as const) {
    await story.save(name, passing(first, second))
    story.publish(`${name}.text`, `ünder ${name}`)
    await story.becomes(`${name}.back`, `ünder ${name}`)
    const reference = story.value(`${name}.page`) as ArtifactReference
    assert.deepEqual(reference, {
      digest: digestOfBytes(`ünder ${name}`),
      media_type: 'text/plain',
      size: Buffer.byteLength(`ünder ${name}`),
      meta: { from: 'test' },
    })
    const served = await HTTP(`/artifacts/${reference.digest}?media_type=text/plain`)
    assert.equal(await served.text(), `ünder ${name}`)
  }
  assert.deepEqual(new StoredFiles(live.data_dir).leftOver(), [])
})

test('a body stores bytes of every make, and streams of them', async () => {
  const makes: Record<string, [string, string]> = {
    buffer: ["Buffer.from('abc')", 'abc'],
    view: [
      "new Uint16Array(Buffer.from('xabcx').buffer.slice(0, 0)).length === 0 && Buffer.from('xabcx').subarray(1, 4)",
      'abc',
    ],
    array_buffer: ["new TextEncoder().encode('abc').buffer", 'abc'],
    data_view: ["new DataView(new TextEncoder().encode('xabc').buffer, 1)", 'abc'],
    shared: ['(() => { const b = new Uint8Array(new SharedArrayBuffer(3)); b.set([97, 98, 99]); return b })()', 'abc'],
    text: ["'ab\\u00e7'", 'abç'],
    nothing: ["''", ''],
    list: ["['a', Buffer.from('b'), 'c']", 'abc'],
    generator: ["(async function* () { yield 'a'; yield Buffer.from('bc') })()", 'abc'],
    readable: ["(await import('node:stream')).Readable.from(['a', 'bc'], { objectMode: false })", 'abc'],
    web_stream: ["new Response('abc').body", 'abc'],
    large: ["Buffer.alloc(700_000, 'a')", 'a'.repeat(700_000)],
  }
  const source = `export default async ({ x }, ctx) => {
    const made = {}
    ${Object.entries(makes)
      .map(([name, [make]]) => `made.${name} = (await ctx.artifact(${make}, 'a/b')).digest`)
      .join('\n    ')}
    return { y: made }
  }`
  const made = (await outcome('makes', source)) as Record<string, string>
  for (const [name, [, text]] of Object.entries(makes)) assert.equal(made[name], digestOfBytes(text), name)
})

test('what a body changes while it is being stored changes nothing of what is stored', async () => {
  const source = `export default async (_, ctx) => {
    const bytes = Buffer.alloc(900_000, 'a')
    const storing = ctx.artifact(bytes, 'a/b')
    const changing = setInterval(() => bytes.fill('b'), 0)
    bytes.fill('c', 600_000)
    const reference = await storing
    clearInterval(changing)
    const back = await ctx.read(reference)
    return { y: [reference.digest, (await import('node:crypto')).createHash('sha256').update(back).digest('hex')] }
  }`
  const [digest, found] = (await outcome('changes', source)) as string[]
  assert.equal(digest, `sha256:${found}`)
})

test('a body is refused what is no artifact, and nothing is left of it', async () => {
  const refusals: [string, string, string][] = [
    ['nothing', 'undefined', 'bad_artifact'],
    ['number', '5', 'bad_artifact'],
    ['object', '{ a: 1 }', 'bad_artifact'],
    ['stream_of_numbers', '[1, 2]', 'bad_artifact'],
    ['broken_stream', "(async function* () { yield 'a'; throw new Error('mine') })()", 'node_error'],
    ['large', `Buffer.alloc(${BOUND + 1})`, 'too_large'],
    ['large_stream', '(function* () { for (;;) yield Buffer.alloc(100_000) })()', 'too_large'],
  ]
  for (const [name, make, code] of refusals)
    assert.equal(
      await outcome(`no_${name}`, `export default async (_, ctx) => ({ y: await ctx.artifact(${make}, 'a/b') })`),
      code,
      name,
    )
  for (const [name, type] of [
    ['none', ''],
    ['word', 'png'],
    ['number', 5],
    ['lines', 'a/b\r\nc: d'],
  ] as const)
    assert.equal(
      await outcome(`type_${name}`, "export default async ({ x }, ctx) => ({ y: await ctx.artifact('a', x) })", type),
      'bad_media_type',
      name,
    )
  for (const [name, meta] of [
    ['text', '"a"'],
    ['list', '[]'],
    ['date', '{ at: new Date() }'],
    ['infinite', '{ at: 1 / 0 }'],
    ['large', `{ a: 'x'.repeat(${limits.ARTIFACT_META_BYTES}) }`],
  ] as const)
    assert.equal(
      await outcome(
        `meta_${name}`,
        `export default async (_, ctx) => ({ y: await ctx.artifact('a', 'a/b', { meta: ${meta} }) })`,
      ),
      'bad_artifact',
      name,
    )
  assert.deepEqual(new StoredFiles(live.data_dir).leftOver(), [])
})

test('a body is refused what is not stored, and what is no longer what was stored', async () => {
  const read = 'export default async ({ x }, ctx) => ({ y: (await ctx.read(x)).length })'
  const files = new StoredFiles(live.data_dir)
  assert.equal(
    await outcome('read_missing', read, { digest: digestOfBytes('missing'), media_type: 'a/b' }),
    'artifact_not_found',
  )
  for (const [name, value] of [
    ['text', 'sha256:x'],
    ['number', 1],
    ['no_digest', { media_type: 'a/b' }],
    ['path', { digest: '../token' }],
  ] as const)
    assert.equal(await outcome(`read_${name}`, read, value), 'bad_artifact', name)
  const reference = (await outcome(
    'stored',
    "export default async (_, ctx) => ({ y: await ctx.artifact('stored well', 'a/b') })",
  )) as ArtifactReference
  assert.equal(await outcome('read_well', read, reference), 'stored well'.length)
  chmodSync(files.path(reference.digest), 0o600)
  truncateSync(files.path(reference.digest), 3)
  assert.equal(await outcome('read_damaged', read, reference), 'artifact_damaged')
})

test('the sweep keeps what a live message holds and what a run records, and tells what it removed', async () => {
  const { engine, data_dir } = swept
  const story = new Story(engine)
  const files = new StoredFiles(data_dir)
  await story.save('pages', passing({}, {}))
  story.publish('pages.text', 'before')
  await story.becomes('pages.back', 'before')
  story.publish('pages.text', 'held')
  await story.becomes('pages.back', 'held')
  await story.save('deep', flow([], json('any')))
  await story.save(
    'hidden',
    flow(
      [
        code(
          'store',
          "export default async ({ x }, ctx) => { await ctx.artifact('hidden ' + x, 'a/b'); return { y: 1 } }",
          [input('x')],
          [output('y', 'int')],
        ),
      ],
      json('x'),
    ),
  )
  const batch = new BatchStory(engine)
  const run = await batch.runs('pages', { inputs: { text: 'recorded' } })
  assert.equal(run.status, 'succeeded')
  // Named by no value of the run, but stored by its node.
  assert.equal((await batch.runs('hidden', { inputs: { x: 'by a run' } })).status, 'succeeded')
  story.publish('hidden.x', 'live')
  await story.reaches('hidden.y', 1)
  story.publish('deep.any', { list: [{ page: { digest: digestOfBytes('before'), media_type: 'text/plain' } }] })
  const texts = ['before', 'held', 'recorded', 'hidden by a run', 'hidden live']
  for (const text of texts) files.age(digestOfBytes(text), 2 * limits.ARTIFACT_SPARED_S)
  const report = await engine.artifacts.sweep()
  assert.deepEqual(
    texts.filter(text => files.has(digestOfBytes(text))),
    texts.slice(0, -1),
  )
  const { seen, recorded, held, removed, removed_bytes } = report
  assert.deepEqual([seen, recorded, held, removed, removed_bytes], [5, 2, 2, 1, 'hidden live'.length])
  const page = { limit: 10, offset: 0, flow: null, type: 'artifacts_swept', since_us: null, until_us: null }
  const [event] = (await engine.observe.events(page)).items
  assert.deepEqual([event?.['removed'], event?.['held']], [1, 2])
})

test('artifacts over their budget are told by an event and the summary, and stay as long as their run does', async () => {
  const { engine, data_dir } = kept
  const batch = new BatchStory(engine)
  const store = `export default async (_, ctx) => ({ page: await ctx.artifact('x'.repeat(1_500_000), 'text/plain') })`
  await batch.save('large', flow([code('store', store, [input('x')], [output('page', 'artifact')])], json('x')))
  const text = 'x'.repeat(1_500_000)
  const { id } = await batch.runs('large', { inputs: { x: 1 } })
  const { bytes, over_bytes, removed } = await engine.artifacts.sweep()
  assert.deepEqual([bytes, over_bytes, removed], [text.length, text.length - 1024 ** 2, 0])
  await engine.artifacts.sweep()
  const page = { limit: 10, offset: 0, flow: null, type: 'artifacts_over_budget', since_us: null, until_us: null }
  const { items } = await engine.observe.events(page)
  assert.deepEqual(
    items.map(event => [event['bytes'], event['over_bytes'], event['budget_bytes']]),
    [[text.length, over_bytes, 1024 ** 2]],
  )
  const shown = async () => (await engine.observe.summary()).disk.find(part => part.class === 'artifacts')
  assert.deepEqual(await shown(), { class: 'artifacts', bytes: text.length, budget_bytes: 1024 ** 2 })
  await engine.runs.delete(id, { name: 'tests', address: '' })
  new StoredFiles(data_dir).age(digestOfBytes(text), 2 * limits.ARTIFACT_SPARED_S)
  assert.deepEqual([(await engine.artifacts.sweep()).removed, (await shown())?.bytes], [1, 0])
})

test('the sweep stands aside while a run is in flight', async () => {
  const { engine, data_dir } = swept
  const story = new Story(engine)
  const batch = new BatchStory(engine)
  await story.save(
    'endless',
    flow(
      [
        code(
          'wait',
          'export default (_, ctx) => new Promise(end => ctx.signal.addEventListener("abort", () => end({})))',
          [input('x')],
          [output('y')],
        ),
      ],
      json('x'),
    ),
  )
  const { id } = await batch.create('endless', { inputs: { x: 1 } })
  await batch.until(id, run => run.status === 'running', 'runs')
  const { digest } = await engine.artifacts.put(
    (async function* () {
      yield Buffer.from('old')
    })(),
    3,
  )
  new StoredFiles(data_dir).age(digest, 2 * limits.ARTIFACT_SPARED_S)
  assert.equal((await engine.artifacts.sweep()).stood_aside, true)
  await engine.runs.cancel(id, 'tests')
  await batch.ended(id)
  assert.equal((await engine.artifacts.sweep()).removed, 1)
})

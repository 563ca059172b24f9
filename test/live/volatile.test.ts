import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'
import { digestOfBytes, StoredFiles } from '../kit/stored-artifacts.ts'

const live = sharedEngine({
  FLOW_LANES: '1',
  FLOW_MAX_WORKERS: '2',
  ARTIFACT_VOLATILE_BYTES: String(limits.VOLATILE_BYTES_MIN),
})

const SLOT = { timeout: 60 }
const PROCESS = { isolation: 'process' as const }
const text = { message: 'text', dtype: 'str' as const }
const STORE = `export default async ({ text }, ctx) => ({
  page: await ctx.artifact(text, 'text/plain', { meta: { from: 'test' }, volatile: true })
})`
const READ = 'export default async ({ page }, ctx) => ({ back: String(await ctx.read(page)) })'
const passing = (first: object, second: object) =>
  flow(
    [
      code('store', STORE, [input('text', 'str')], [output('page', 'artifact')], first),
      code('read', READ, [input('page', 'artifact')], [output('back', 'str')], second),
    ],
    text,
  )
const http = (path: string, headers: Record<string, string> = {}): Promise<Response> => {
  const token = readFileSync(`${live.data_dir}/token`, 'utf8')
  return fetch(live.url + path, { headers: { authorization: `Bearer ${token}`, ...headers } })
}
/** A flow of one body; answers what `y` becomes of `x`, or the error. */
async function outcome(name: string, source: string, x: unknown = null, more: object = {}): Promise<unknown> {
  const story = new Story(live.engine)
  await story.save(
    name,
    flow([code('body', source, [input('x', 'json')], [output('y', 'json')], more)], { message: 'x', dtype: 'json' }),
  )
  story.publish(`${name}.x`, x)
  let failed: { code: string; message: string } | undefined
  await eventually(async () => {
    failed = (await live.engine.nodes.errors(`${name}.body`)).items[0]
    return failed !== undefined || story.version(`${name}.y`) > 0
  }, `${name} has run`)
  return failed ?? story.value(`${name}.y`)
}
const files = () => new StoredFiles(live.data_dir)
/** Pushes everything out that is there. */
const flood = (name: string) =>
  outcome(
    name,
    `export default async (_, ctx) => {
      for (let at = 0; at < 12; at++) await ctx.artifact(Buffer.alloc(200_000, at), 'a/b', { volatile: true })
      return { y: true }
    }`,
  )

test('a volatile artifact that one body stores is read by another and served over HTTP, and never touches the disk', async () => {
  const story = new Story(live.engine)
  for (const [name, first, second] of [
    ['inline', {}, {}],
    ['slots', SLOT, SLOT],
    ['mixed', {}, SLOT],
    ['mixed_back', SLOT, {}],
    ['processes', PROCESS, PROCESS],
    ['to_a_process', {}, PROCESS],
    ['from_a_process', PROCESS, SLOT],
  ] as const) {
    await story.save(name, passing(first, second))
    const words = `volatile ${name}`
    story.publish(`${name}.text`, words)
    await story.becomes(`${name}.back`, words)
    const reference = story.value(`${name}.page`) as ArtifactReference
    assert.deepEqual(reference, {
      digest: digestOfBytes(words),
      media_type: 'text/plain',
      size: words.length,
      meta: { from: 'test' },
    })
    const path = `/artifacts/${reference.digest}?media_type=text/plain`
    const served = await http(path)
    assert.equal(await served.text(), words)
    assert.equal(served.headers.get('etag'), `"${reference.digest}"`)
    const part = await http(path, { range: 'bytes=0-7' })
    assert.deepEqual([part.status, await part.text()], [206, 'volatile'])
    const parts = await http(path, { range: 'bytes=0-1,4-5' })
    assert.match(await parts.text(), /\r\n\r\nvo\r\n.*\r\n\r\nti\r\n/s)
    assert.equal((await http(path, { 'if-none-match': `"${reference.digest}"` })).status, 304)
    assert.equal((await http(path, { range: 'bytes=900-' })).status, 416)
  }
  assert.deepEqual(files().all(), [])
})

test('streams and texts may be volatile, and what is larger than the store takes is refused', async () => {
  const digests = await outcome(
    'makes',
    `export default async (_, ctx) => {
      const piece = Buffer.from('b')
      const made = [
        await ctx.artifact('abc', 'a/b', { volatile: true }),
        await ctx.artifact((function* () { yield 'a'; yield piece; piece.fill('c'); yield piece })(), 'a/b', { volatile: true }),
        await ctx.artifact('', 'a/b', { volatile: true }),
      ]
      return { y: await Promise.all(made.map(async one => String(await ctx.read(one)))) }
    }`,
  )
  assert.deepEqual(digests, ['abc', 'abc', ''])
  for (const [name, make] of [
    ['long', `Buffer.alloc(${limits.VOLATILE_BYTES_MIN / 4 + 1})`],
    ['endless', '(function* () { for (;;) yield Buffer.alloc(100_000) })()'],
  ] as const) {
    const refused = await outcome(
      name,
      `export default async (_, ctx) => ({ y: await ctx.artifact(${make}, 'a/b', { volatile: true }) })`,
    )
    assert.equal((refused as { code: string }).code, 'too_large')
  }
  const refused = await outcome(
    'word',
    "export default async (_, ctx) => ({ y: await ctx.artifact('a', 'a/b', { volatile: 'yes' }) })",
  )
  assert.equal((refused as { code: string }).code, 'bad_artifact')
})

test('a reader of a volatile artifact that has fallen out is told so, with its digest', async () => {
  const words = 'soon gone'
  await outcome(
    'soon',
    "export default async (_, ctx) => ({ y: await ctx.artifact('soon gone', 'a/b', { volatile: true }) })",
  )
  await flood('flood')
  const digest = digestOfBytes(words)
  const refused = (await outcome('late', 'export default async ({ x }, ctx) => ({ y: String(await ctx.read(x)) })', {
    digest,
    media_type: 'a/b',
  })) as { code: string; message: string }
  assert.equal(refused.code, 'artifact_fell_out')
  assert.ok(refused.message.includes(digest))
  const served = await http(`/artifacts/${digest}`)
  assert.equal(served.status, 410)
  const problem = (await served.json()) as { code: string; detail: string }
  assert.equal(problem.code, 'artifact_fell_out')
  assert.ok(problem.detail.includes(digest))
})

test('a body keeps a volatile artifact, and it is there after it has fallen out', async () => {
  for (const [name, more] of [
    ['keeps_inline', ''],
    ['keeps_twice', 'await ctx.keep(made);'],
  ]) {
    const kept = (await outcome(
      name!,
      `export default async (_, ctx) => {
        const made = await ctx.artifact('kept by ${name}', 'a/b', { volatile: true })
        ${more}
        return { y: await ctx.keep(made) }
      }`,
    )) as ArtifactReference
    assert.equal(kept.digest, digestOfBytes(`kept by ${name}`))
    assert.ok(files().has(kept.digest))
  }
  await flood('flood_again')
  const served = await http(`/artifacts/${digestOfBytes('kept by keeps_inline')}`)
  assert.equal(await served.text(), 'kept by keeps_inline')
  const refusals: [string, unknown, string][] = [
    ['keep_text', 'sha256:x', 'bad_artifact'],
    ['keep_missing', { digest: digestOfBytes('missing'), media_type: 'a/b' }, 'artifact_not_found'],
  ]
  for (const [name, x, expected] of refusals) {
    const refused = await outcome(name, 'export default async ({ x }, ctx) => ({ y: await ctx.keep(x) })', x)
    assert.equal((refused as { code: string }).code, expected)
  }
})

test('a thread that dies in the middle leaves the store to the others', async () => {
  const dying = `export default async ({ x }, ctx) => {
    for (let at = 0; ; at++) {
      await ctx.artifact(Buffer.from(x + at), 'a/b', { volatile: true })
      if (at % 10 === 0) await new Promise(resolve => setImmediate(resolve))
      if (at === 50) setTimeout(() => { throw new Error('mine') })
    }
  }`
  const story = new Story(live.engine)
  await story.save(
    'dying',
    flow([code('body', dying, [input('x', 'str')], [output('y', 'int')], SLOT)], { message: 'x', dtype: 'str' }),
  )
  story.publish('dying.x', 'bytes')
  await eventually(async () => (await live.engine.nodes.errors('dying.body')).items.length > 0, 'its thread died')
  assert.equal(
    await outcome(
      'after',
      `export default async (_, ctx) => ({ y: String(await ctx.read(await ctx.artifact('after', 'a/b', { volatile: true }))) })`,
    ),
    'after',
  )
})

test('a batch run copies the volatile artifacts that its values name to the disk, and records them', async () => {
  const batch = new BatchStory(live.engine)
  await batch.save('recorded', passing({}, {}))
  const run = await batch.runs('recorded', { inputs: { text: 'by a run' } })
  assert.equal(run.status, 'succeeded')
  const digest = digestOfBytes('by a run')
  assert.equal((run.result!['page'] as ArtifactReference | undefined)?.digest ?? digest, digest)
  assert.ok(files().has(digest))
  await flood('flood_runs')
  assert.equal(await (await http(`/artifacts/${digest}`)).text(), 'by a run')
  files().age(digest, 2 * limits.ARTIFACT_SPARED_S)
  await live.engine.artifacts.sweep()
  assert.ok(files().has(digest), 'the sweep removed what a run records')
  // A hit of the stage cache needs the bytes, too.
  const again = await batch.runs('recorded', { inputs: { text: 'by a run' } })
  assert.equal((await batch.statuses(again.id))['store'], 'cached')
})

test('a volatile artifact may be the input of a run, as long as it is there', async () => {
  const batch = new BatchStory(live.engine)
  await batch.save(
    'reads',
    flow([code('read', READ, [input('page', 'artifact')], [output('back', 'str')])], {
      message: 'page',
      dtype: 'artifact',
    }),
  )
  await outcome(
    'makes_input',
    "export default async (_, ctx) => ({ y: await ctx.artifact('an input', 'a/b', { volatile: true }) })",
  )
  const digest = digestOfBytes('an input')
  const run = await batch.runs('reads', { inputs: { page: digest } })
  assert.deepEqual([run.status, run.result!['back']], ['succeeded', 'an input'])
  assert.ok(files().has(digest))
  await outcome(
    'makes_late',
    "export default async (_, ctx) => ({ y: await ctx.artifact('too late', 'a/b', { volatile: true }) })",
  )
  await flood('flood_inputs')
  await assert.rejects(
    batch.create('reads', { inputs: { page: digestOfBytes('too late') } }),
    (error: { code: string; errors: { msg: string }[] }) =>
      error.code === 'bad_input' && /fallen out/.test(error.errors[0]!.msg),
  )
})

test('a run fails when what a node names has fallen out', async () => {
  const batch = new BatchStory(live.engine)
  const source = `export default async (_, ctx) => {
    const page = await ctx.artifact('lost in a run', 'text/plain', { volatile: true })
    for (let at = 0; at < 12; at++) await ctx.artifact(Buffer.alloc(200_000, 50 + at), 'a/b', { volatile: true })
    return { page }
  }`
  await batch.save('loses', flow([code('store', source, [input('text', 'str')], [output('page', 'artifact')])], text))
  const run = await batch.runs('loses', { inputs: { text: 'a' } })
  assert.deepEqual([run.status, run.error?.code], ['failed', 'artifact_fell_out'])
  assert.ok(run.error?.message.includes(digestOfBytes('lost in a run')))
})

test('a body in a process keeps what is volatile, is told what has fallen out, and is refused what is too large', async () => {
  const kept = (await outcome(
    'process_keeps',
    "export default async (_, ctx) => ({ y: await ctx.keep(await ctx.artifact('kept by a process', 'a/b', { volatile: true })) })",
    null,
    PROCESS,
  )) as ArtifactReference
  assert.equal(kept.digest, digestOfBytes('kept by a process'))
  assert.ok(files().has(kept.digest))
  const gone = digestOfBytes('gone from a process')
  await outcome(
    'process_makes',
    "export default async (_, ctx) => ({ y: await ctx.artifact('gone from a process', 'a/b', { volatile: true }) })",
    null,
    PROCESS,
  )
  await flood('flood_processes')
  const read = 'export default async ({ x }, ctx) => ({ y: String(await ctx.read(x)) })'
  const late = await outcome('process_late', read, { digest: gone, media_type: 'a/b' }, PROCESS)
  assert.equal((late as { code: string }).code, 'artifact_fell_out')
  const large = `export default async (_, ctx) => ({ y: await ctx.artifact(Buffer.alloc(${limits.VOLATILE_BYTES_MIN / 4 + 1}), 'a/b', { volatile: true }) })`
  assert.equal(((await outcome('process_large', large, null, PROCESS)) as { code: string }).code, 'too_large')
})

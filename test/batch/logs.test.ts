import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../protocol/limits.ts'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import type { RunLogLine, RunLogPage } from '../../protocol/nouns/run-log.ts'
import type { LogRequest } from '../../server/store/front/run-logs.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, refused } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_MAX_WORKERS: '2', FLOW_MAX_RUNS: '2' }, { call_grace_ms: 200 })
const x = input('x', 'int')
const y = output('y', 'int')
const body = (source: string, more: Partial<FlowNode> = {}) =>
  flow([code('body', source, [x], [y], { cache: false, ...more })], { message: 'x', dtype: 'int' })
const WHOLE: Omit<LogRequest, 'run'> = {
  after: 0,
  limit: 1000,
  bytes: limits.RUN_LOG_PAGE_BYTES,
  node: null,
  level: null,
}

async function linesOf(run: string, more: Partial<LogRequest> = {}) {
  const lines: RunLogLine[] = []
  for (let after: number | null = 0; after !== null; ) {
    const page: RunLogPage = await live.engine.run_logs.page({ ...WHOLE, ...more, run, after })
    lines.push(...page.items)
    if (page.next_after === after) break
    after = page.next_after
  }
  return lines
}
const shown = ({ seq, node, level, text }: RunLogLine): string => `${seq} ${node} ${level} ${text}`

const CHATTY = `export default async ({ x }, ctx) => {
  ctx.log('logged')
  ctx.log({ deep: [x] }, 'error')
  ctx.log('of no known level', 'fatal')
  console.log('printed %d', x)
  console.debug('debugged')
  console.warn('two\\nlines')
  console.error(new Map([['a', 1]]))
  process.stdout.write('without ')
  await null
  process.stdout.write(Buffer.from([0x65, 0x6e, 0x64, 0xff]))
  return { y: x }
}`
const CHATTED = [
  '1 body info logged',
  '2 body error {"deep":[7]}',
  '3 body info of no known level',
  '4 body info printed 7',
  '5 body debug debugged',
  '6 body warn two',
  '7 body warn lines',
  "8 body error Map(1) { 'a' => 1 }",
]

for (const isolation of [undefined, 'process'] as const) {
  const where = isolation === undefined ? 'a thread' : 'a process'
  const name = isolation ?? 'thread'
  const more: Partial<FlowNode> = isolation === undefined ? {} : { isolation }

  test(`what a body in ${where} logs and prints is the log of its run`, async () => {
    const story = new BatchStory(live.engine)
    await story.save(`chatty_${name}`, body(CHATTY, more))
    const run = await story.runs(`chatty_${name}`, { inputs: { x: 7 } })
    assert.equal(run.status, 'succeeded', run.error?.message)
    const lines = await linesOf(run.id)
    assert.deepEqual(lines.map(shown).slice(0, 8), CHATTED)
    // Bytes that are no text are shown as such.
    assert.deepEqual(lines.map(shown).slice(8), ['9 body info without end\ufffd'])
    assert.ok(lines.every(({ ts, attempt }) => attempt === 1 && ts >= run.started_at! && ts <= run.finished_at!))
    assert.deepEqual(
      (await linesOf(run.id, { level: 'warn' })).map(({ seq }) => seq),
      [2, 6, 7, 8],
    )
    assert.deepEqual(await linesOf(run.id, { node: 'other' }), [])
  })

  test(`a body in ${where} writes more than may be on its way, and no line is lost`, async () => {
    const story = new BatchStory(live.engine)
    const source = `export default ({ x }, ctx) => {
  const text = 'l'.repeat(90)
  for (let at = 1; at <= x; at++) ctx.log(at + text)
  return { y: x }
}`
    await story.save(`many_${name}`, body(source, more))
    const count = Math.ceil((3 * limits.RUN_LOG_WAITING) / 106)
    const run = await story.runs(`many_${name}`, { inputs: { x: count } })
    assert.equal(run.status, 'succeeded', run.error?.message)
    const lines = await linesOf(run.id)
    assert.equal(lines.length, count)
    assert.ok(lines.every(({ seq, text }, at) => seq === at + 1 && Number.parseInt(text, 10) === seq))
  })

  test(`a body in ${where} that fails or is cancelled has said why`, async () => {
    const story = new BatchStory(live.engine)
    const source = `export default async ({ x }, ctx) => {
  ctx.log('before')
  if (x === 1) throw new Error('broken')
  await new Promise(resolve => ctx.signal.addEventListener('abort', resolve))
  console.log('told to end')
  return {}
}`
    await story.save(`ends_${name}`, body(source, more))
    const failed = await story.runs(`ends_${name}`, { inputs: { x: 1 } })
    assert.deepEqual([failed.status, (await linesOf(failed.id)).map(shown)], ['failed', ['1 body info before']])
    const { id } = await story.create(`ends_${name}`, { inputs: { x: 2 } })
    await eventually(async () => (await linesOf(id)).length > 0, 'lines of a run that goes on can be read')
    await live.engine.runs.cancel(id, 'tests')
    const cancelled = await story.ended(id)
    assert.equal(cancelled.status, 'cancelled')
    assert.deepEqual((await linesOf(id)).map(shown), ['1 body info before', '2 body info told to end'])
  })
}

test('a line is cut where it is too long, and a printed one goes on in the next', async () => {
  const story = new BatchStory(live.engine)
  const long = 3 * limits.LOG_LINE_BYTES + 10
  const source = `export default ({ x }, ctx) => {
  ctx.log('a'.repeat(x))
  process.stdout.write('b'.repeat(x) + '\\n')
}`
  await story.save('huge', body(source))
  const run = await story.runs('huge', { inputs: { x: long } })
  const [logged, ...printed] = await linesOf(run.id)
  assert.equal(logged!.text, `${'a'.repeat(limits.LOG_LINE_BYTES)}…`)
  assert.equal(printed.map(({ text }) => text).join(''), 'b'.repeat(long))
})

test('a page ends at its bounds, and the next one goes on behind it', async () => {
  const story = new BatchStory(live.engine)
  const source = `export default ({ x }, ctx) => {
  for (let at = 1; at <= x; at++) ctx.log(at % 100 === 0 ? 'hundred' : '\\u0000'.repeat(500), at % 100 === 0 ? 'warn' : 'info')
}`
  await story.save('pages', body(source))
  const { id } = await story.runs('pages', { inputs: { x: 1000 } })
  const two = await live.engine.run_logs.page({ ...WHOLE, run: id, after: 5, limit: 2 })
  assert.deepEqual([two.items.map(({ seq }) => seq), two.next_after, two.dropped], [[6, 7], 7, 0])
  const whole = await live.engine.run_logs.page({ ...WHOLE, run: id })
  assert.ok(JSON.stringify(whole).length <= limits.RUN_LOG_PAGE_BYTES)
  assert.equal(whole.next_after, whole.items.length)
  assert.equal((await linesOf(id)).length, 1000)
  assert.deepEqual(
    (await linesOf(id, { level: 'warn' })).map(({ seq }) => seq),
    [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000],
  )
  assert.deepEqual((await live.engine.run_logs.page({ ...WHOLE, run: id, after: 1e15 })).next_after, null)
  const nobody = '0198c0de-0000-7000-8000-000000000000'
  assert.equal(await refused(live.engine.run_logs.page({ ...WHOLE, run: nobody })), 'run_not_found')
})

test('a run without a line has an empty log', async () => {
  const story = new BatchStory(live.engine)
  await story.save('quiet', body('export default ({ x }) => ({ y: x })'))
  const { id } = await story.runs('quiet', { inputs: { x: 1 } })
  const empty = { run: id, items: [], next_after: null, dropped: 0 }
  assert.deepEqual(await live.engine.run_logs.page({ ...WHOLE, run: id }), empty)
})

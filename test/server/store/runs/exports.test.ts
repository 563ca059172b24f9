import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../protocol/limits.ts'
import { formatTime } from '../../../../protocol/time.ts'
import type { ExportMetricsRequest, ExportRunsRequest } from '../../../../server/store/front/runs.ts'
import { saving, startStore, temporaryDirectory } from '../../../kit/stored.ts'
import {
  claimOf,
  csv,
  curve,
  everyRun,
  finishOf,
  jsonl,
  newRun,
  nodeRow,
  progressOf,
  ranRun,
  textOf,
} from '../../../kit/stored-runs.ts'

const metrics = (more: Partial<ExportMetricsRequest> = {}): ExportMetricsRequest => ({
  ...everyRun,
  ...csv,
  name: null,
  stride: 1,
  ...more,
})
const runs = (more: Partial<ExportRunsRequest> = {}): ExportRunsRequest => ({
  ...everyRun,
  ...csv,
  metrics: [],
  columns: [],
  ...more,
})
const lines = (text: string): string[] => text.split('\n').slice(0, -1)

test('a metrics export has a row per run, curve and step, oldest run first, cached curves with the run that reuses them', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const first = await ranRun(store.runs, newRun('boiler'), {
    nodes: [nodeRow('fit', { cache_key: 'k' })],
    metrics: [
      ...curve('fit.loss', 5, step => -step),
      { name: 'fit.odd, "name"', step: 1e21, value: 1e-7 },
      { name: 'fit.loss', step: 5, value: 0.1 },
    ],
  })
  await ranRun(store.runs, newRun('boiler'))
  const second = await ranRun(store.runs, newRun('boiler'), {
    nodes: [nodeRow('again', { status: 'cached', cache_key: 'k', cached_from: first.id })],
  })
  const read = async (more: Partial<ExportMetricsRequest>) => textOf(await store.runs.exportMetrics(metrics(more)))
  const loss = (run: string, node: string) => [
    `${run},boiler.${node}.loss,0,0`,
    `${run},boiler.${node}.loss,1,-1`,
    `${run},boiler.${node}.loss,2,-2`,
    `${run},boiler.${node}.loss,3,-3`,
    `${run},boiler.${node}.loss,4,-4`,
    `${run},boiler.${node}.loss,5,0.1`,
  ]
  const odd = (run: string, node: string) => `${run},"boiler.${node}.odd, ""name""",1e+21,1e-7`
  assert.deepEqual(lines(await read({})), [
    'run,name,step,value',
    ...loss(first.id, 'fit'),
    odd(first.id, 'fit'),
    ...loss(second.id, 'again'),
    odd(second.id, 'again'),
  ])
  assert.deepEqual(lines(await read({ name: 'boiler.again.loss', stride: 4 })), [
    'run,name,step,value',
    `${second.id},boiler.again.loss,0,0`,
    `${second.id},boiler.again.loss,4,-4`,
  ])
  assert.deepEqual(
    lines(await read({ ...jsonl, stride: 5 })).map(line => JSON.parse(line)),
    [first, second].flatMap(({ id }, i) => {
      const node = ['fit', 'again'][i]!
      return [
        { run: id, name: `boiler.${node}.loss`, step: 0, value: 0 },
        { run: id, name: `boiler.${node}.loss`, step: 5, value: 0.1 },
        { run: id, name: `boiler.${node}.odd, "name"`, step: 1e21, value: 1e-7 },
      ]
    }),
  )
  assert.equal(await read({ flow: 'none' }), 'run,name,step,value\n')
  assert.equal(await read({ ...jsonl, flow: 'none' }), '')
})

test('a runs export has the inputs that vary, the numbers of the results and the last values that were asked for', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  for (const flow of ['boiler', 'kettle']) await store.saveFlow(saving(flow))
  const resolved = (more: object) => ({ resolved: { same: 1, model: { name: 'm', lr: 0.1, layers: [1] }, ...more } })
  const a = await ranRun(
    store.runs,
    newRun('boiler', resolved({ on: true })),
    { metrics: curve('fit.loss', 5) },
    { result: { y: 2, text: 'no number', deep: { f1: 0.5, list: [1, 2] }, flag: true } },
  )
  const b = await ranRun(
    store.runs,
    newRun('boiler', { ...resolved({ model: { name: 'm', lr: 0.2, layers: [1, { a: 2 }] }, on: null }), commit: 'c2' }),
    {},
    { status: 'failed', result: { y: 'not this time', z: -1 } },
  )
  const queued = newRun('kettle', { resolved: { same: 1, text: '' } })
  await store.runs.create(queued, null)
  const running = newRun('boiler', resolved({ on: true }))
  await store.runs.create(running, null)
  await store.runs.claim(claimOf(running.id, { code_digest: 'code' }))
  const read = async (more: Partial<ExportRunsRequest>) => textOf(await store.runs.exportRuns(runs(more)))
  const head =
    'run,flow,status,duration,commit,code_digest,inputs.model.layers,inputs.model.lr,inputs.model.name,inputs.on,inputs.text,' +
    'result.deep.f1,result.deep.list,result.y,result.z,metrics.boiler.fit.loss,metrics.boiler.fit.none'
  const asked = { metrics: ['boiler.fit.loss', 'boiler.fit.none', 'boiler.fit.loss'] }
  const text = await read(asked)
  assert.deepEqual(lines(text), [
    head,
    `${a.id},boiler,succeeded,2.5,c0ffee,,[1],0.1,m,true,,0.5,"[1,2]",2,,1,`,
    `${b.id},boiler,failed,2.5,c2,,"[1,{""a"":2}]",0.2,m,,,,,,-1,,`,
    `${queued.id},kettle,queued,,c0ffee,,,,,,"",,,,,,`,
    `${running.id},boiler,running,,c0ffee,code,[1],0.1,m,true,,,,,,,`,
  ])
  assert.equal(await read(asked), text, 'equal selections give equal bytes')
  assert.deepEqual(lines(await read({ flow: 'boiler', status: 'succeeded' })), [
    'run,flow,status,duration,commit,code_digest,result.deep.f1,result.deep.list,result.y',
    `${a.id},boiler,succeeded,2.5,c0ffee,,0.5,"[1,2]",2`,
  ])
  const rows = lines(await read({ ...jsonl, ...asked, flow: 'boiler' })).map(
    line => JSON.parse(line) as Record<string, unknown>,
  )
  assert.deepEqual(rows[1], {
    run: b.id,
    flow: 'boiler',
    status: 'failed',
    duration: 2.5,
    commit: 'c2',
    code_digest: null,
    'inputs.model.layers': [1, { a: 2 }],
    'inputs.model.lr': 0.2,
    'inputs.on': null,
    'result.deep.f1': null,
    'result.deep.list': null,
    'result.y': null,
    'result.z': -1,
    'metrics.boiler.fit.loss': null,
    'metrics.boiler.fit.none': null,
  })
})

test('a runs export keeps lists of results whole, leaves sizes of artifacts out, and has the columns that were asked for', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const picture = { digest: `sha256:${'ab'.repeat(32)}`, media_type: 'image/png', size: 5, meta: { width: 3 } }
  const error = { code: 'node_error', message: 'no, "never"', node: 'fit', stack: null }
  const one = await ranRun(
    store.runs,
    newRun('boiler', { seed: 7, groups: ['night', 'day'], tags: ['b', 'a'], note: '=no formula' }),
    {},
    { status: 'failed', error, result: { curve: [1, 2], deep: { pictures: [picture] }, picture, y: 1 } },
  )
  const read = async (columns: ExportRunsRequest['columns']) =>
    lines(await textOf(await store.runs.exportRuns(runs({ columns }))))
  const fixed = 'run,flow,status,duration,commit,code_digest'
  assert.equal((await read([]))[0], `${fixed},result.curve,result.deep.pictures,result.y`)
  const [head, row] = await read(['seed', 'group', 'groups', 'tags', 'note', 'created_at', 'error'])
  assert.equal(head, `${fixed},seed,group,groups,tags,note,created_at,error,result.curve,result.deep.pictures,result.y`)
  const time = formatTime(one.created_at)
  const told = `7,night,"[""night"",""day""]","[""b"",""a""]",'=no formula,${time},"node_error: no, ""never""","[1,2]",`
  assert.ok(row!.startsWith(`${one.id},boiler,failed,2.5,c0ffee,,${told}`), row)
})

test('hostile keys and cells stay in their cell, keep their column, and are no formula to a spreadsheet', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const texts = [
    '=1+1',
    '+1+1',
    '-2+3',
    '@SUM(A1)',
    '\tx',
    '\rx',
    '-1.5e3',
    '+7',
    'a,b',
    'say "x"',
    'two\nlines',
    "'",
    '=a,"b"',
    '1e5',
    ' =1',
    'ü😀',
    '＝1+1',
    '\n=1',
  ]
  for (const text of texts) {
    await ranRun(store.runs, newRun('boiler', { resolved: { text } }), {}, { result: null })
  }
  const column = async (raw: boolean): Promise<string> => {
    const text = await textOf(await store.runs.exportRuns(runs({ raw })))
    return text.replaceAll(/^[0-9a-f-]{36},boiler,succeeded,2.5,c0ffee,,/gm, '|')
  }
  assert.equal(
    await column(false),
    'run,flow,status,duration,commit,code_digest,inputs.text\n' +
      `|'=1+1\n|'+1+1\n|'-2+3\n|'@SUM(A1)\n|'\tx\n|"'\rx"\n|-1.5e3\n|+7\n|"a,b"\n|"say ""x"""\n|"two\nlines"\n|'\n|"'=a,""b"""\n|1e5\n|' =1\n|ü😀\n|'＝1+1\n|"'\n=1"\n`,
  )
  assert.equal(
    await column(true),
    'run,flow,status,duration,commit,code_digest,inputs.text\n' +
      `|=1+1\n|+1+1\n|-2+3\n|@SUM(A1)\n|\tx\n|"\rx"\n|-1.5e3\n|+7\n|"a,b"\n|"say ""x"""\n|"two\nlines"\n|'\n|"=a,""b"""\n|1e5\n| =1\n|ü😀\n|＝1+1\n|"\n=1"\n`,
  )
  await store.saveFlow(saving('odd'))
  const keys = (n: number) =>
    JSON.parse(
      `{"__proto__":${n},"constructor":{"prototype":${n}},"a":{"b":${n}},"a.b":${n + 1},"c":{"d.e":${n}},"x,\\"":${n},"":${n}}`,
    ) as Record<string, unknown>
  for (const n of [1, 2]) {
    await ranRun(store.runs, newRun('odd', { resolved: keys(n) }), {}, { result: keys(-n) })
  }
  const names = ['', '__proto__', 'a.b', 'a\\.b', 'c.d.e', 'constructor.prototype', 'x,"']
  const rows = lines(await textOf(await store.runs.exportRuns(runs({ ...jsonl, flow: 'odd' }))))
  for (const [i, row] of rows.entries()) {
    const n = i + 1
    const got = Object.entries(JSON.parse(row) as object).slice(6)
    const value = (name: string, n: number) => (name === 'a\\.b' ? n + 1 : n)
    assert.deepEqual(got, [
      ...names.map(name => [`inputs.${name}`, value(name, n)]),
      ...names.map(name => [`result.${name}`, value(name, -n)]),
    ])
  }
  const [head] = lines(await textOf(await store.runs.exportRuns(runs({ flow: 'odd' }))))
  assert.ok(head!.endsWith('result.constructor.prototype,"result.x,"""'))
})

test('an export of more runs than the bound has the newest, and says so', async t => {
  const { store } = await startStore(t, temporaryDirectory(t), { bounds: { export_runs: 3 } })
  await store.saveFlow(saving('boiler'))
  const ids: string[] = []
  for (let i = 0; i < 4; i++) ids.push((await ranRun(store.runs, newRun('boiler'), { metrics: curve('n.x', 1) })).id)
  const cut = await store.runs.exportRuns(runs())
  assert.equal(cut.truncated, true)
  const firstCells = (text: string) => lines(text).map(line => line.split(',')[0])
  assert.deepEqual(firstCells(await textOf(cut)), ['run', ...ids.slice(1)])
  const cutMetrics = await store.runs.exportMetrics(metrics())
  assert.equal(cutMetrics.truncated, true)
  assert.deepEqual(firstCells(await textOf(cutMetrics)), ['run', ...ids.slice(1)])
  const before = (await store.runs.get(ids[3]!))!.created_at
  const whole = await store.runs.exportRuns(runs({ before }))
  assert.equal(whole.truncated, false)
  assert.deepEqual(firstCells(await textOf(whole)), ['run', ...ids.slice(0, 3)])
})

test('pages are about as long as they should be, come one by one, and other reads go between those of two exports', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const { id } = await ranRun(store.runs, newRun('boiler'), { metrics: curve('fit.loss', 60_000) })
  const open = () => store.runs.exportMetrics(metrics())
  const [one, two] = [await open(), await open()]
  const order: string[] = []
  let rows = 0
  const drain = async (pages: AsyncIterable<Uint8Array>, name: string): Promise<void> => {
    for await (const page of pages) {
      order.push(name)
      rows += Buffer.from(page).toString().split('\n').length - 1
      assert.ok(page.length < 1.2 * limits.EXPORT_PAGE_BYTES, `${page.length} bytes`)
    }
  }
  const read = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await store.runs.get(id)
      order.push('read')
    }
  }
  await Promise.all([drain(one, 'one'), drain(two, 'two'), read()])
  assert.equal(rows, 2 * 60_001)
  const pages = order.filter(name => name === 'one').length
  assert.ok(pages >= 10, `${pages} pages`)
  // Of each export a page is with the front when it is opened, one may be on its way, and one may be asked for before the read is.
  const between = order.slice(0, order.lastIndexOf('read')).join('').split('read')
  assert.equal(between.length, 3)
  for (const some of between) assert.ok(some.length <= 'one'.length * 6, order.join(' '))
})

test('an export that is left early is forgotten, and one whose run moved on meanwhile keeps its columns', async t => {
  const { store, close } = await startStore(t, temporaryDirectory(t), { bounds: { export_page_bytes: 1 } })
  await store.saveFlow(saving('boiler'))
  const ids: string[] = []
  for (let i = 0; i < 4; i++) {
    const run = newRun('boiler', { resolved: { i } })
    ids.push(run.id)
    await store.runs.create(run, null)
  }
  const left = await store.runs.exportRuns(runs())
  for await (const page of left) {
    assert.ok(page.length > 0)
    break
  }
  assert.deepEqual(await left[Symbol.asyncIterator]().next(), { done: true, value: undefined })
  const unread = await store.runs.exportRuns(runs())
  unread.close()
  unread.close()
  assert.equal(await textOf(unread), '')

  const moved = await store.runs.exportRuns(runs())
  await store.runs.claim(claimOf(ids[3]!, { code_digest: 'later' }))
  await store.runs.finish(finishOf(ids[3]!, { result: { late: 1 } }), progressOf(ids[3]!), null)
  const rows = lines(await textOf(moved))
  assert.equal(rows[0], 'run,flow,status,duration,commit,code_digest,inputs.i')
  assert.equal(rows[4], `${ids[3]},boiler,queued,,c0ffee,,3`)

  const cut = await store.runs.exportRuns(runs())
  await close()
  await assert.rejects(textOf(cut), { code: 'store_failed' })
})

test('a selection whose inputs have more paths than an export has columns is refused before its first byte', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  for (const run of ['a', 'b']) {
    const keys = Array.from({ length: limits.EXPORT_COLUMNS / 2 + 1 }, (_, i) => [`${run}${i}`, i])
    await ranRun(store.runs, newRun('boiler', { resolved: Object.fromEntries(keys) }))
  }
  await assert.rejects(store.runs.exportRuns(runs()), { code: 'too_large' })
})

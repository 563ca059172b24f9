import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { limits } from '../../../protocol/limits.ts'
import { allRoutes, type Services } from '../../../server/routes/all-routes.ts'
import { databaseFile } from '../../../server/store/file/database.ts'
import { BatchStory } from '../../kit/batch-story.ts'
import { type LiveEngine, liveEngine } from '../../kit/live-engine.ts'
import { code, flow, input, Story } from '../../kit/live-story.ts'
import { PanelStory } from '../../kit/panel-story.ts'

type Row = Record<string, unknown>
interface Read {
  /** As `/flows`, with a query if there is one. */
  readonly path: string
  readonly keyOf: (item: Row) => unknown
  /** Rows of this test take more than one page holds. */
  readonly isLong: boolean
}
interface Page {
  items: Row[]
  count: number
  next?: number
}

const byName = (item: Row): unknown => item['name']
const byId = (item: Row): unknown => item['id']
const whole = (item: Row): unknown => JSON.stringify(item)
const itself = (item: Row): unknown => item
/** Of 3 bytes each. */
const LONG = '€'.repeat(900)
const NAMES = 4_000
const POINTS = 20_000

/** Every list route, with rows that make more than one page where that takes few of them; of runs test/server/store/runs/documents.test.ts has those. */
const reads = (run: string): Record<string, Read> => ({
  'GET /flows': { path: '/flows', keyOf: byName, isLong: true },
  'GET /flows/{name}/history': { path: '/flows/wide0/history', keyOf: item => item['commit'], isLong: true },
  'GET /messages': { path: '/messages', keyOf: byName, isLong: true },
  'GET /nodes/{flow}.{node}/errors': { path: '/nodes/fails.body/errors', keyOf: whole, isLong: true },
  'GET /nodes/{flow}.{node}/fires': { path: '/nodes/fails.body/fires', keyOf: whole, isLong: false },
  'GET /node-types': { path: '/node-types', keyOf: byName, isLong: false },
  'GET /cascades': { path: '/cascades', keyOf: byId, isLong: false },
  'GET /runs': { path: '/runs', keyOf: byId, isLong: false },
  'GET /runs/metrics/names': { path: '/runs/metrics/names', keyOf: itself, isLong: false },
  'GET /runs/{id}/events': { path: `/runs/${run}/events`, keyOf: whole, isLong: true },
  'GET /artifacts': { path: '/artifacts', keyOf: item => item['digest'], isLong: false },
  'GET /flavors': { path: '/flavors', keyOf: byName, isLong: false },
  'GET /events': { path: '/events?type=flow_saved', keyOf: whole, isLong: true },
  'GET /tile-types': { path: '/tile-types', keyOf: byName, isLong: false },
  'GET /dashboards': { path: '/dashboards', keyOf: byName, isLong: true },
  'GET /dashboards/{name}/history': {
    path: '/dashboards/d0/history',
    keyOf: item => item['version'],
    isLong: false,
  },
  'GET /panels': { path: '/panels', keyOf: byId, isLong: true },
  'GET /secrets/': { path: '/secrets/', keyOf: byName, isLong: false },
  'GET /tokens': { path: '/tokens', keyOf: byName, isLong: false },
  'GET /clients': { path: '/clients', keyOf: item => item['client_id'], isLong: false },
  'GET /users': { path: '/users', keyOf: byName, isLong: false },
})
/** The same route goes another way for it. */
const SORTED: Read = { path: '/runs?sort=-created_at', keyOf: byId, isLong: false }
/** Answered whole, as a stream that the reader thread makes: a node's outputs belong to the record of the run. */
const STREAMED = ['GET /runs/{id}/nodes']
/** A list of curves, whose pages are counted in points: below. */
const SERIES = 'GET /runs/metrics/series'

test('every route that answers a list is read here', () => {
  const anything: unknown = new Proxy(() => anything, { get: () => anything })
  const lists = allRoutes(anything as Services).filter(({ answers }) => {
    const members = (answers[200] as { properties?: Row } | null | undefined)?.properties
    return members?.['items'] !== undefined && members['count'] !== undefined
  })
  assert.deepEqual(
    lists.map(({ method, path }) => `${method} ${path}`).sort(),
    [...Object.keys(reads('')), ...STREAMED, SERIES].sort(),
  )
})

test('no page of a list is longer than its bound, and by `next` its pages bring every row once', async t => {
  const first = await liveEngine(t)
  const run = await fill(first)
  const data_dir = first.data_dir
  await first.close()
  fillEvents(data_dir, run)
  const { url } = await first.restart()
  const token = readFileSync(join(data_dir, 'token'), 'utf8').trim()
  const pageOf = async <Answer = Page>(path: string): Promise<Answer> => {
    const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })
    const text = await answer.text()
    assert.equal(answer.status, 200, `${path}: ${text.slice(0, 200)}`)
    assert.ok(Buffer.byteLength(text) <= limits.LIST_BYTES, `${path}: ${Buffer.byteLength(text)} bytes`)
    return JSON.parse(text) as Answer
  }
  const readAll = async (path: string, limit: number, most = Number.POSITIVE_INFINITY) => {
    const items: Row[] = []
    const sizes: number[] = []
    for (let offset: number | undefined = 0; offset !== undefined && sizes.length < most; ) {
      const query: string = `limit=${limit}&offset=${offset}`
      const { items: more, count, next } = await pageOf<Page>(`${path}${path.includes('?') ? '&' : '?'}${query}`)
      items.push(...more)
      sizes.push(more.length)
      assert.ok(more.length > 0 && more.length <= limit, path)
      assert.equal(next, items.length < count ? items.length : undefined, `${path}: there is a next page`)
      offset = next
    }
    return { items, sizes }
  }
  for (const { path, keyOf, isLong } of [...Object.values(reads(run)), SORTED]) {
    const { items, sizes } = await readAll(path, limits.LIST_LIMIT)
    assert.equal(new Set(items.map(keyOf)).size, items.length, `${path}: no row is there twice`)
    if (isLong) assert.ok(sizes[0]! < limits.LIST_LIMIT && sizes.length > 1, `${path}: pages of ${sizes.join()} rows`)
    // Pages that end at their limit, and not at their bytes.
    const few = await readAll(path, 2, 3)
    assert.deepEqual(few.items.map(keyOf), items.slice(0, few.items.length).map(keyOf), path)
    assert.equal(few.items.length, Math.min(6, items.length), path)
  }

  const steps: number[] = []
  const names = new Set<unknown>()
  let pages = 0
  for (let offset: number | undefined = 0; offset !== undefined; pages++) {
    const page: Page = await pageOf(`/runs/metrics/series?run=${run}&offset=${offset}`)
    for (const { name, steps: more } of page.items) {
      names.add(name)
      if (name === 'measures.body.a-long-curve') steps.push(...(more as number[]))
    }
    assert.equal(page.count, page.items.length)
    offset = page.next
  }
  assert.ok(pages > 2)
  assert.equal(names.size, NAMES + 1)
  assert.deepEqual(
    steps,
    Array.from({ length: POINTS }, (_, at) => at),
  )
})

/** The id of a run with many curves. */
async function fill({ engine, url, data_dir }: LiveEngine): Promise<string> {
  const story = new Story(engine)
  const reader = (id: string, message: string) => code(id, 'export default () => {}', [input('x', 'json', { message })])
  for (let at = 0; at < 8; at++) {
    const nodes = Array.from({ length: 250 }, (_, node) =>
      reader(`n${node}`, `nothing-makes-${'it'.repeat(16)}-${node}`),
    )
    await story.save(`wide${at}`, flow(nodes, { message: 'x', dtype: 'json' }))
  }
  for (let at = 0; at < 120; at++)
    await engine.flows.save(
      'wide0',
      { document: flow([], { message: `x${at}`, dtype: 'int' }), message: LONG },
      'tests',
    )
  const values = Array.from({ length: 30 }, (_, at) => ({ message: `v${at}`, dtype: 'json' as const }))
  await story.save('values', flow([], ...values))
  for (const { message } of values) story.publish(`values.${message}`, 'x'.repeat(15_000))
  const body = 'export default () => { throw new Error("no") }'
  await story.save(
    'fails',
    flow([code('body', body, [input('x', 'json', { message: 'x' })])], { message: 'x', dtype: 'json' }),
  )
  for (let at = 0; at < 60; at++) await story.publishPatiently('fails.x', at < 40 ? at : 'x'.repeat(15_000))
  await story.executed('fails', 'body', 60)
  const token = readFileSync(join(data_dir, 'token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${token}` }
  for (let at = 0; at < 8; at++)
    assert.equal((await fetch(`${url}/artifacts`, { method: 'PUT', headers, body: `bytes ${at}` })).status, 201)
  for (let at = 0; at < 4; at++) {
    const body = JSON.stringify({ name: `token${at}`, rights: ['metrics'], expires_s: 600 })
    const type = { ...headers, 'content-type': 'application/json' }
    const secret = { method: 'PUT', headers: type, body: '{"value":"of no use"}' }
    assert.equal((await fetch(`${url}/secrets/secret${at}`, secret)).status, 204)
    assert.equal((await fetch(`${url}/tokens`, { method: 'POST', headers: type, body })).status, 201)
    const client = JSON.stringify({ name: `agent${at % 2}`, scopes: ['read'] })
    assert.equal((await fetch(`${url}/clients`, { method: 'POST', headers: type, body: client })).status, 201)
  }
  const screens = new PanelStory({ engine, url, data_dir } as LiveEngine)
  const dashboards = Array.from({ length: 20 }, (_, at) => `d${at}${'n'.repeat(60)}`.slice(0, 64))
  dashboards[0] = 'd0'
  for (const name of dashboards) await screens.dashboard(name, [])
  for (let at = 0; at < 5; at++) await screens.dashboard('d0', [])
  for (let at = 0; at < 300; at++) await screens.panel(`${at}${'€'.repeat(50)}`, ...dashboards)
  const batch = new BatchStory(engine)
  const measures = `export default ({ x }, ctx) => {
    for (let at = 0; at < x.names; at++) ctx.metric('m' + '${'m'.repeat(50)}' + at, at)
    for (let at = 0; at < x.points; at++) ctx.metric('a-long-curve', at + 0.1234567890123, at)
  }`
  await batch.save(
    'measures',
    flow([code('body', measures, [input('x', 'json', { message: 'x' })])], {
      message: 'x',
      dtype: 'json',
    }),
  )
  for (let at = 0; at < 12; at++) await batch.create('measures', { inputs: { x: { names: 0, points: 0, at } } })
  const run = await batch.runs('measures', { inputs: { x: { names: NAMES, points: POINTS } } })
  assert.equal(run.status, 'succeeded')
  return run.id
}

function fillEvents(data_dir: string, run: string): void {
  const db = new Database(databaseFile(data_dir))
  const insert = db.prepare('INSERT INTO events (ts, type, flow, run, body) VALUES (?, ?, ?, ?, ?)')
  const fires = db.prepare(
    `INSERT INTO fires (node, opened, scheduled, last_scheduled, status, late_s, count, at_least) VALUES ('fails.body', ?, ?, ?, 'fired', 0, 1, 0)`,
  )
  db.transaction(() => {
    for (let at = 1; at <= 20; at++) fires.run(at, at, at)
    for (let at = 0; at < 250; at++)
      insert.run(Date.now() * 1000, 'flow_saved', 'measures', run, JSON.stringify({ text: `${at} ${LONG}` }))
  })()
  db.close()
}

import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SearchResult } from '../../protocol/nouns/search/found.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { eventually, type LiveEngine, liveEngine, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine()

async function asked(engine: LiveEngine, method: string, path: string, body?: unknown): Promise<Response> {
  const token = readFileSync(join(engine.data_dir, 'token'), 'utf8')
  const headers = { authorization: `Bearer ${token}` }
  return fetch(engine.url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
}
async function search(q: string, limit = 20, engine: LiveEngine = live): Promise<SearchResult> {
  const answer = await asked(engine, 'GET', `/search?q=${encodeURIComponent(q)}&limit=${limit}`)
  assert.equal(answer.status, 200, await answer.clone().text())
  return (await answer.json()) as SearchResult
}
const namesOf = async (q: string, engine: LiveEngine = live): Promise<string[]> =>
  (await search(q, 100, engine)).found.map(({ kind, name }) => `${kind} ${name}`)
const finds = (q: string, ...wanted: string[]): Promise<void> =>
  eventually(async () => {
    const names = await namesOf(q)
    return wanted.length === 0 ? names.length === 0 : wanted.every(one => names.includes(one))
  }, `${q}: ${wanted.join()}`)

const adder = (id: string, source = 'export default ({ x }) => ({ y: x })') =>
  code(id, source, [input('x', 'int')], [output('y', 'int', { message: `${id}_out` })])
const x = { message: 'x', dtype: 'int' } as const

test('what is saved is found by names, settings and sources; a rename and a removal follow', async () => {
  const story = new Story(live.engine)
  const source = 'export default ({ x }) => ({ y: x + Math.hypot(3, 4) }) // Wärmetauscher'
  await story.save('plant', flow([adder('exchanger', source), adder('other')], x))
  await finds('exchanger', 'node plant.exchanger', 'message plant.exchanger_out')
  await finds('hypot', 'node plant.exchanger')
  await finds('warmetausch', 'node plant.exchanger')
  await finds('WÄRME', 'node plant.exchanger')
  await finds('plant', 'flow plant')
  assert.equal((await namesOf('plant'))[0], 'flow plant')
  const { found } = await search('hypot')
  assert.deepEqual(
    found[0]!.snippet.filter(({ match }) => match),
    [{ text: 'hypot', match: true }],
  )
  assert.equal((await asked(live, 'POST', '/flows/plant/rename', { to: 'factory' })).status, 200)
  await finds('hypot', 'node factory.exchanger')
  await eventually(async () => !(await namesOf('plant')).includes('flow plant'), 'the old name is gone')
  await story.save('factory', flow([adder('other')], x))
  await finds('hypot')
  assert.equal((await asked(live, 'DELETE', '/flows/factory')).status, 204)
  await finds('factory')
})

test('users, names of secrets, dashboards, runs and artifacts are found, and no value of a secret', async () => {
  await asked(live, 'PUT', `/secrets/${encodeURIComponent('kraken api key')}`, { value: 'releasethe-beast' })
  await asked(live, 'POST', '/users', { name: 'krakow', password: 'a long password', role: 'viewer' })
  await finds('krak', 'secret kraken api key', 'user krakow')
  assert.deepEqual(await namesOf('releasethe'), [])
  const story = new BatchStory(live.engine)
  await story.save('train', flow([adder('body')], x))
  const run = await story.runs('train', { inputs: { x: 1 }, tags: ['nightly'], note: 'the one with gradient clipping' })
  await finds('gradient', `run ${run.id}`)
  await finds('nightly', `run ${run.id}`)
  assert.ok((await namesOf(run.id.slice(0, 13))).includes(`run ${run.id}`))
  await asked(live, 'PATCH', `/runs/${run.id}`, { note: '', tags: [] })
  await finds('gradient')
})

test('a query is no language: operators, quotes and marks are words or nothing', async () => {
  const story = new Story(live.engine)
  await story.save(
    'hostile',
    flow(
      [adder('quoted', 'export default ({ x }) => ({ y: x }) // say "NEAR" x-y AND <b>bold</b> \u0002odd\u0003')],
      x,
    ),
  )
  await finds('quoted', 'node hostile.quoted')
  for (const q of [
    '"',
    '""',
    'a"b',
    "'",
    '*',
    '-',
    'x-y',
    'AND',
    'OR NOT',
    'NEAR(',
    '(',
    ')',
    '^',
    ':',
    'name:quoted',
    '{name}: a',
    '\\',
    '%',
    '<b>',
    '\u0000',
    '\u0002',
    '🙂',
    'ㅤ',
    '़',
    `${'a '.repeat(99)}`,
    "'; DROP TABLE words; --",
    'quoted OR zzz',
    '\ud800'.toWellFormed(),
  ]) {
    const answer = await asked(live, 'GET', `/search?q=${encodeURIComponent(q)}`)
    assert.equal(answer.status, 200, `${JSON.stringify(q)}: ${await answer.text()}`)
  }
  assert.deepEqual(await namesOf('quoted zzz'), [])
  assert.ok((await namesOf('x-y NEAR')).includes('node hostile.quoted'))
  const { found } = await search('bold')
  assert.ok(found[0]!.snippet.some(({ text, match }) => match && text === 'bold'))
  for (const q of ['', 'q'.repeat(201)]) assert.equal((await asked(live, 'GET', `/search?q=${q}`)).status, 422)
  assert.equal((await asked(live, 'GET', '/search?q=a&limit=101')).status, 422)
})

test('an index that is gone or damaged is made again', async t => {
  const first = await liveEngine(t)
  await new Story(first.engine).save('kept', flow([adder('pump')], x))
  await eventually(async () => (await namesOf('pump', first)).length > 0, 'found')
  rmSync(join(first.data_dir, 'search.db'))
  await eventually(async () => (await namesOf('pump', first)).length > 0, 'found again')
  await first.close()
  writeFileSync(join(first.data_dir, 'search.db'), 'this is no database '.repeat(1000))
  const second = await first.restart()
  await eventually(
    async () => (await namesOf('pump', second)).length > 0 && (await search('pump', 20, second)).complete,
    'found',
  )
  await new Story(second.engine).save('later', flow([adder('pumpkin')], x))
  await eventually(async () => (await namesOf('pumpkin', second)).length > 0, 'what comes later')
})
